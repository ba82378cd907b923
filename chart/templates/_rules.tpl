{{/* The operator's rights, by where they are wanted. docs/permissions.md says why each is; tests take each away in turn. */}}

{{/* Who gets them. */}}
{{- define "streaming-operator.subjects" -}}
- kind: ServiceAccount
  name: {{ include "streaming-operator.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{/* "true", or empty when no pipelines are run. */}}
{{- define "streaming-operator.controllerEnabled" -}}
{{- if ne (toString (.Values.settings).controllerEnabled) "false" }}true{{ end -}}
{{- end -}}

{{/* Wanted once in the cluster, whatever is watched. */}}
{{- define "streaming-operator.rules.cluster" -}}
# The start goes on only when our own kind is known to the API server.
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  resourceNames: [streamingpipelines.streams.sentry.io, rolloutanalyses.streams.sentry.io]
  verbs: [get]
{{- $runs := include "streaming-operator.controllerEnabled" . }}
{{- if $runs }}
# Those of other releases say whose pipelines these run: two releases never run the same.
- apiGroups: [admissionregistration.k8s.io]
  resources: [validatingwebhookconfigurations]
  verbs: [list, watch]
{{- end }}
{{- if include "streaming-operator.webhookEnabled" . }}
# The authority that signs our certificate is written into these two, and put back when something strips it.
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations]
  resourceNames: [{{ include "streaming-operator.webhookConfigName" . | quote }}]
  verbs: [get, list, watch, patch]
- apiGroups: [admissionregistration.k8s.io]
  resources: [validatingwebhookconfigurations]
  resourceNames: [{{ include "streaming-operator.webhookConfigName" . | quote }}]
  verbs: [{{ empty $runs | ternary "get, list, watch, patch" "get, patch" }}]
{{- $pods := and .Values.workloadNamespace (ne (toString (.Values.settings).workloadAccessCheck) "false") }}
{{- if or $pods (ne (toString (.Values.settings).deploymentTargets) "false") }}
# May the user who has a pipeline's Pods run in another namespace run Pods there? May the one who makes a Deployment the
# target of an analysis, which can pause it, patch it?
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}
{{- end }}
{{- end -}}

{{/* Wanted where pipelines are. */}}
{{- define "streaming-operator.rules.pipelines" -}}
- apiGroups: [streams.sentry.io]
  resources: [streamingpipelines]
  {{- if include "streaming-operator.controllerEnabled" . }}
  # The patch is for our finalizer alone.
  verbs: [get, list, watch, patch]
- apiGroups: [streams.sentry.io]
  resources: [streamingpipelines/status]
  verbs: [update]
# Where OwnerReferencesPermissionEnforcement is on, an owner reference that blocks deletion needs it.
- apiGroups: [streams.sentry.io]
  resources: [streamingpipelines/finalizers]
  verbs: [update]
# The history of a pipeline. Its content never changes; that a revision has completed is an annotation.
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
- apiGroups: [streams.sentry.io]
  resources: [rolloutanalyses]
  verbs: [get, list, watch]
- apiGroups: [streams.sentry.io]
  resources: [rolloutanalyses/status]
  verbs: [update]
{{- if ne (toString (.Values.settings).deploymentTargets) "false" }}
# A RolloutAnalysis may hold a Deployment: spec.paused is all that is written. Which Pods are of which template, its
# ReplicaSets say.
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, patch]
- apiGroups: [apps]
  resources: [replicasets]
  verbs: [list]
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
{{- end }}
  {{- else }}
  verbs: [list, watch]
  {{- end }}
{{- end -}}

{{/* Wanted where Pods run: created, compared, deleted, never changed. */}}
{{- define "streaming-operator.rules.workloads" -}}
- apiGroups: [""]
  resources: [pods, configmaps]
  verbs: [get, list, watch, create, delete]
{{- if ne (toString (.Values.settings).legacyTakeover) "false" }}
# What the Python operator left: taken down step by step.
- apiGroups: [apps]
  resources: [deployments]
  verbs: [list, watch, patch, delete]
# What a Deployment that hangs in a rolling update is set back to.
- apiGroups: [apps]
  resources: [replicasets]
  verbs: [list]
{{- end }}
# Whether the namespace is there and not on its way out. A Role in it is enough to read the namespace itself.
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
{{- if and .Values.workloadNamespace .Values.watchNamespaces (not (has .Values.workloadNamespace .Values.watchNamespaces)) }}
# Tells of Pods that were removed because their pipeline is gone.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}
{{- end -}}

{{/* Wanted in the namespace in which the Python operator ran, where that is none of those above. Nothing is created there.
     Whether they are granted, the operator asks when it finds a pipeline that ran there. */}}
{{- define "streaming-operator.rules.legacy" -}}
- apiGroups: [""]
  resources: [pods, configmaps]
  verbs: [list, delete]
- apiGroups: [apps]
  resources: [deployments]
  verbs: [list, patch, delete]
- apiGroups: [apps]
  resources: [replicasets]
  verbs: [list]
{{- end -}}

{{/* Wanted in the operator's own namespace, under names that do not depend on the release. A create cannot be limited to a
     name. Empty when there is nothing to keep. */}}
{{- define "streaming-operator.rules.own" -}}
{{- if ne (toString (.Values.settings).leaderElect) "false" }}
# Which of the replicas runs the pipelines.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [streaming-operator]
  verbs: [get, update]
{{- end }}
{{- if and (include "streaming-operator.webhookEnabled" .) (eq (include "streaming-operator.tlsMode" .) "self") }}
# The authority and the serving certificate. No other Secret, and none elsewhere.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [streaming-operator-tls]
  verbs: [get, list, watch, update]
{{- end }}
{{- $told := and (include "streaming-operator.controllerEnabled" .) (or (not .Values.watchNamespaces) (has .Release.Namespace .Values.watchNamespaces)) }}
{{- if and (include "streaming-operator.webhookEnabled" .) (not $told) }}
# Warns of a certificate that expires soon or is refused.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}
{{- end -}}
