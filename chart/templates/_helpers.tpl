{{/* The name of every object of the release. */}}
{{- define "streaming-operator.fullname" -}}
{{- default .Chart.Name .Values.fullnameOverride | trunc 54 | trimSuffix "-" -}}
{{- end -}}

{{- define "streaming-operator.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{- define "streaming-operator.serviceAccountName" -}}
{{- default (include "streaming-operator.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "streaming-operator.webhookConfigName" -}}
{{- default (include "streaming-operator.fullname" .) .Values.webhook.configName -}}
{{- end -}}

{{/* Who gets the rights. */}}
{{- define "streaming-operator.subjects" -}}
- kind: ServiceAccount
  name: {{ include "streaming-operator.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{/* Wanted once in the cluster, whatever is watched. */}}
{{- define "streaming-operator.rules.cluster" -}}
# The authority that signs our certificate is written into these two, and put back when something strips it.
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
  resourceNames: [{{ include "streaming-operator.webhookConfigName" . | quote }}]
  verbs: [get, list, watch, patch]
{{- if and .Values.workloadNamespace .Values.settings.workloadAccessCheck }}
# May the user whose pipeline lies elsewhere run Pods in the workload namespace?
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}
# An orphan is removed, and the start goes on, only when our own kinds are known to the API server.
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  resourceNames: [streamingpipelines.streams.sentry.io]
  verbs: [get]
{{- end -}}

{{/* Wanted where pipelines are. */}}
{{- define "streaming-operator.rules.pipelines" -}}
- apiGroups: [streams.sentry.io]
  resources: [streamingpipelines]
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
{{- end -}}

{{/* Wanted where Pods run: created, compared, deleted, never changed. */}}
{{- define "streaming-operator.rules.workloads" -}}
- apiGroups: [""]
  resources: [pods, configmaps]
  verbs: [get, list, watch, create, delete]
{{- end -}}

{{/* Whether a namespace is there and not on its way out. A Role in it is enough to read the namespace itself. */}}
{{- define "streaming-operator.rules.namespaces" -}}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
{{- end -}}
