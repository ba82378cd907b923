//! Every story goes as it is told, and every sentence of the rules has one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::story::Story;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The stories, by the names of their files.
fn stories() -> Vec<(String, Story)> {
    let folder = fs::read_dir(root().join("tests/stories")).expect("the folder of the stories");
    let paths = folder.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|is| is == "story"))
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a story");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, Story::read(&text))
    };
    paths.into_iter().map(read).collect()
}

/// The sentences: name, text, and the test that has it where no story can.
fn sentences() -> Vec<(String, String, Option<String>)> {
    let text = fs::read_to_string(root().join("tests/stories/sentences.txt")).expect("the sentences");
    let of_line = |line: &str| {
        let (name, rest) = line.split_once(": ").expect("NAME: SENTENCE");
        let (sentence, tested) = match rest.split_once(" [") {
            Some((sentence, of_test)) => (sentence, Some(of_test.trim_end_matches(']').to_owned())),
            None => (rest, None),
        };
        (name.to_owned(), sentence.to_owned(), tested)
    };
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(of_line)
        .collect()
}

#[test]
fn every_story_goes_as_it_is_told() {
    let only = std::env::var("STORY").ok();
    let mut wrong = Vec::new();
    for (name, story) in stories() {
        if only.as_ref().is_some_and(|only| !name.starts_with(only.as_str())) {
            continue;
        }
        if let Some(went) = story.differs() {
            wrong.push(format!("{name}: {}\n{went}\n", story.title));
        }
    }
    assert!(wrong.is_empty(), "these went otherwise:\n\n{}", wrong.join("\n"));
}

#[test]
fn every_sentence_of_the_rules_has_a_story() {
    let told: BTreeSet<String> = stories().into_iter().flat_map(|(_, story)| story.shows).collect();
    let sentences = sentences();
    let without = sentences
        .iter()
        .filter(|(name, _, test)| test.is_none() && !told.contains(name));
    let without: Vec<String> = without
        .map(|(name, sentence, _)| format!("{name}: {sentence}"))
        .collect();
    assert_eq!(without, Vec::<String>::new(), "sentences without a story");
    let names: BTreeSet<String> = sentences.into_iter().map(|(name, ..)| name).collect();
    let unknown: Vec<&String> = told.difference(&names).collect();
    assert_eq!(unknown, Vec::<&String>::new(), "no sentence has these names");
}

#[test]
fn every_test_that_stands_for_a_story_exists() {
    let mut code = String::new();
    for folder in ["src", "tests"] {
        collect(&root().join(folder), &mut code);
    }
    let missing: Vec<String> = sentences()
        .into_iter()
        .filter_map(|(_, _, test)| test)
        .filter(|test| !code.contains(&format!("fn {test}()")))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

fn collect(folder: &Path, code: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, code);
        } else if path.extension().is_some_and(|is| is == "rs") {
            code.push_str(&fs::read_to_string(&path).expect("a source file"));
        }
    }
}
