package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

var english = message.NewPrinter(language.English)

// Defaulter writes every default into the object.
type Defaulter struct{}

func def[T any](p **T, v T) {
	if *p == nil {
		*p = &v
	}
}

func defs(p *string, v string) {
	if *p == "" {
		*p = v
	}
}

func (*Defaulter) Default(_ context.Context, o *StreamingPipeline) error {
	s := &o.Spec
	defs(&s.PipelineName, o.Name)
	def(&s.Replicas, 1)
	def(&s.WithCanary, false)
	def(&s.SegmentID, 0)
	defs(&s.LogLevel, "INFO")
	def(&s.EnableLivenessProbe, true)
	defs(&s.ContainerName, "pipeline-consumer")
	def(&s.Suspend, false)
	def(&s.RevisionHistoryLimit, 10)
	if s.Rollout == nil {
		s.Rollout = &Rollout{}
	}
	r := s.Rollout
	def(&r.Paused, false)
	def(&r.MaxUnavailable, intstr.FromString("25%"))
	def(&r.MaxSurge, intstr.FromInt32(0))
	def(&r.MinReadySeconds, 0)
	def(&r.ProgressDeadlineSeconds, 600)
	defs(&r.PodReplacementPolicy, "TerminatingOrFailed")
	def(&r.RequireAnalysis, false)
	defs(&r.OnFailure, "Pause")
	return nil
}

// Index is the in-memory name index; a real operator fills it from an informer.
type Index struct {
	sync.RWMutex
	owner map[string]string
}

func (x *Index) holder(workloadNamespace, name string) (string, bool) {
	x.RLock()
	defer x.RUnlock()
	o, ok := x.owner[workloadNamespace+"/"+name]
	return o, ok
}

// Validator judges with typed checks, names, the JSON schema of pipeline_config, and the merged Pod template, strictly
// decoded.
type Validator struct {
	schema *jsonschema.Schema
	index  *Index
}

func (v *Validator) ValidateCreate(_ context.Context, o *StreamingPipeline) (admission.Warnings, error) {
	errs, warns := v.validate(o)
	return warns, invalid(o, errs)
}

func (v *Validator) ValidateUpdate(_ context.Context, old, o *StreamingPipeline) (admission.Warnings, error) {
	if o.DeletionTimestamp != nil || apiequality.Semantic.DeepEqual(old.Spec, o.Spec) {
		return nil, nil
	}
	errs, warns := v.validate(o)
	p := field.NewPath("spec")
	if old.Spec.ServiceName != o.Spec.ServiceName {
		errs = append(errs, field.Invalid(p.Child("service_name"), o.Spec.ServiceName, "field is immutable"))
	}
	if old.Spec.PipelineName != o.Spec.PipelineName {
		errs = append(errs, field.Invalid(p.Child("pipeline_name"), o.Spec.PipelineName, "field is immutable"))
	}
	if val(old.Spec.SegmentID, 0) != val(o.Spec.SegmentID, 0) {
		errs = append(errs, field.Invalid(p.Child("segment_id"), val(o.Spec.SegmentID, 0), "field is immutable"))
	}
	if len(errs) > 0 { // only faults that the update brings in
		oldErrs, _ := v.validate(old)
		known := map[string]bool{}
		for _, e := range oldErrs {
			known[e.Error()] = true
		}
		kept := errs[:0]
		for _, e := range errs {
			if known[e.Error()] {
				warns = append(warns, e.Error())
			} else {
				kept = append(kept, e)
			}
		}
		errs = kept
	}
	return warns, invalid(o, errs)
}

func (v *Validator) ValidateDelete(context.Context, *StreamingPipeline) (admission.Warnings, error) {
	return nil, nil
}

func invalid(o *StreamingPipeline, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	if n := len(errs); n > 20 {
		errs = append(errs[:20:20], field.InternalError(field.NewPath("spec"), fmt.Errorf("and %d more", n-20)))
	}
	return apierrors.NewInvalid(GroupVersion.WithKind("StreamingPipeline").GroupKind(), o.Name, errs)
}

func val[T any](p *T, d T) T {
	if p == nil {
		return d
	}
	return *p
}

func k8sName(s string, limit int) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range strings.ToLower(strings.NewReplacer(".", "-", "_", "-").Replace(s)) {
		if r == '-' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		}
	}
	out := strings.Trim(b.String(), "-")
	if limit > 0 && len(out) > limit {
		out = strings.TrimRight(out[:limit], "-")
	}
	return out
}

// config is the typed part of pipeline_config that the rules look at.
type config struct {
	Pipeline *struct {
		AdapterConfig struct {
			Arroyo struct {
				WriteHealthcheck bool `json:"write_healthcheck"`
			} `json:"arroyo"`
		} `json:"adapter_config"`
		Segments []struct {
			StepsConfig map[string]struct {
				Parallelism json.RawMessage `json:"parallelism"`
			} `json:"steps_config"`
		} `json:"segments"`
	} `json:"pipeline"`
}

func (v *Validator) validate(o *StreamingPipeline) (errs field.ErrorList, warns admission.Warnings) {
	s, p := &o.Spec, field.NewPath("spec")
	pipelineName := s.PipelineName
	if pipelineName == "" {
		pipelineName = o.Name
	}
	for _, f := range [...]struct{ n, v string }{
		{"service_name", s.ServiceName}, {"pipeline_name", pipelineName},
		{"pipeline_module", s.PipelineModule}, {"image_name", s.ImageName},
	} {
		if f.v == "" {
			errs = append(errs, field.Required(p.Child(f.n), ""))
		}
	}
	if s.CPUPerProcess < 1 {
		errs = append(errs, field.Invalid(p.Child("cpu_per_process"), s.CPUPerProcess, "must be at least 1"))
	}
	if s.MemoryPerProcess < 1 {
		errs = append(errs, field.Invalid(p.Child("memory_per_process"), s.MemoryPerProcess, "must be at least 1"))
	}
	replicas, segment := val(s.Replicas, 1), val(s.SegmentID, 0)
	if replicas < 0 || replicas > 999 {
		errs = append(errs, field.Invalid(p.Child("replicas"), replicas, "must be between 0 and 999"))
	}
	if segment < 0 {
		errs = append(errs, field.Invalid(p.Child("segment_id"), segment, "must not be negative"))
	}
	switch s.LogLevel {
	case "", "DEBUG", "INFO", "WARNING", "ERROR":
	default:
		errs = append(errs, field.NotSupported(p.Child("log_level"), s.LogLevel, []string{"DEBUG", "INFO", "WARNING", "ERROR"}))
	}
	// names
	base := k8sName(fmt.Sprintf("%s-pipeline-%s-%d", s.ServiceName, pipelineName, segment), 0)
	names := []string{base}
	if val(s.WithCanary, false) {
		names = append(names, base+"-canary")
	}
	for _, n := range names {
		if len(n) > 54 {
			errs = append(errs, field.TooLong(p.Child("pipeline_name"), n, 54))
		}
		if h, ok := v.index.holder(o.Namespace, n); ok && h != o.Namespace+"/"+o.Name {
			errs = append(errs, field.Duplicate(p.Child("pipeline_name"), n+" is held by "+h))
		}
	}
	for _, f := range [...]struct{ n, v string }{{"service_name", s.ServiceName}, {"pipeline_name", pipelineName}} {
		if n := k8sName(f.v, 0); len(n) > 63 || n == "" {
			errs = append(errs, field.Invalid(p.Child(f.n), f.v, "does not make a valid label"))
		}
	}
	// pipeline_config
	inst, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.PipelineConfig.Raw))
	if err != nil {
		errs = append(errs, field.Required(p.Child("pipeline_config"), "must be an object"))
	} else if err := v.schema.Validate(inst); err != nil {
		var ve *jsonschema.ValidationError
		if errors.As(err, &ve) {
			errs = leaves(errs, p.Child("pipeline_config"), ve)
		} else {
			errs = append(errs, field.InternalError(p.Child("pipeline_config"), err))
		}
	} else {
		var c config
		if err := json.Unmarshal(s.PipelineConfig.Raw, &c); err != nil {
			errs = append(errs, field.Invalid(p.Child("pipeline_config"), "", err.Error()))
		} else if c.Pipeline == nil {
			errs = append(errs, field.Required(p.Child("pipeline_config", "pipeline"), ""))
		} else {
			if n := len(c.Pipeline.Segments); n > 0 && int(segment) >= n {
				errs = append(errs, field.Invalid(p.Child("segment_id"), segment, fmt.Sprintf("only %d segments", n)))
			}
			marked := 0
			for i, g := range c.Pipeline.Segments {
				for name, st := range g.StepsConfig {
					if len(st.Parallelism) == 0 || st.Parallelism[0] != '{' {
						continue
					}
					var par struct {
						MultiProcess *struct {
							Processes *int64 `json:"processes"`
						} `json:"multi_process"`
					}
					if err := json.Unmarshal(st.Parallelism, &par); err != nil {
						errs = append(errs, field.Invalid(p.Child("pipeline_config", "pipeline", "segments").Index(i).Child("steps_config", name, "parallelism"), string(st.Parallelism), err.Error()))
						continue
					}
					if par.MultiProcess != nil && par.MultiProcess.Processes != nil {
						marked++
						break
					}
				}
			}
			if marked > 1 {
				errs = append(errs, field.Forbidden(p.Child("pipeline_config", "pipeline", "segments"), fmt.Sprintf("multi-process in %d segments, at most one may have it", marked)))
			}
			if val(s.EnableLivenessProbe, true) && !c.Pipeline.AdapterConfig.Arroyo.WriteHealthcheck {
				warns = append(warns, "enable_liveness_probe is on but adapter_config.arroyo.write_healthcheck is not: the consumer is killed about every 310 s")
			}
		}
	}
	// templates
	var ct, dt map[string]any
	if err := json.Unmarshal(s.ContainerTemplate.Raw, &ct); err != nil || ct == nil {
		errs = append(errs, field.TypeInvalid(p.Child("container_template"), "", "must be an object"))
	} else if val(s.EnableLivenessProbe, true) && truthy(ct["livenessProbe"]) {
		errs = append(errs, field.Forbidden(p.Child("container_template", "livenessProbe"), "enable_liveness_probe is on"))
	}
	if err := json.Unmarshal(s.DeploymentTemplate.Raw, &dt); err != nil || dt == nil {
		errs = append(errs, field.TypeInvalid(p.Child("deployment_template"), "", "must be an object"))
	}
	if ct != nil && dt != nil {
		errs = renderCheck(errs, p, s, base, pipelineName, replicas, dt, ct)
	}
	// warnings
	if val(s.WithCanary, false) && replicas < 2 {
		warns = append(warns, "with_canary needs at least 2 replicas")
	}
	if i := strings.LastIndexByte(s.ImageName, '/'); !strings.Contains(s.ImageName[i+1:], ":") || strings.HasSuffix(s.ImageName, ":latest") {
		warns = append(warns, "image_name has no tag or :latest")
	}
	if s.EmergencyPatch != nil {
		warns = append(warns, "emergency_patch is present")
	}
	return errs, warns
}

func truthy(v any) bool {
	switch t := v.(type) {
	case nil:
		return false
	case map[string]any:
		return len(t) > 0
	case string:
		return t != ""
	case float64:
		return t != 0
	case bool:
		return t
	case []any:
		return len(t) > 0
	}
	return true
}

func leaves(errs field.ErrorList, p *field.Path, e *jsonschema.ValidationError) field.ErrorList {
	if len(e.Causes) == 0 {
		q := p
		for _, t := range e.InstanceLocation {
			q = q.Child(t)
		}
		return append(errs, field.Invalid(q, field.OmitValueType{}, e.ErrorKind.LocalizedString(english)))
	}
	for _, c := range e.Causes {
		errs = leaves(errs, p, c)
	}
	return errs
}
