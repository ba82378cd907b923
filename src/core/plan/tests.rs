//! The rules of the planner, each on the smallest pipeline that shows it. What many steps together do is in
//! `tests/core_scenarios`.

mod first_and_healing;
mod legacy;
mod notices;
mod objects;
mod orders;
mod rollout;
mod scaling;
