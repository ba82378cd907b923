{{/* What several templates share. Every value is read as (.Values.section).key: a section that an older release's values lack,
     or that is set to null, must not stop an upgrade. */}}

{{/* The name of every object of the release. A release name has 53 characters at most, so that it always fits whole. */}}
{{- define "streaming-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 54 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 54 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "streaming-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "streaming-operator.labels" -}}
{{ include "streaming-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{/* name, namespace and labels of a namespaced object; the caller may add lines. */}}
{{- define "streaming-operator.metadata" -}}
name: {{ include "streaming-operator.fullname" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "streaming-operator.labels" . | nindent 2 }}
{{- end -}}

{{- define "streaming-operator.serviceAccountName" -}}
{{- default (include "streaming-operator.fullname" .) (.Values.serviceAccount).name -}}
{{- end -}}

{{- define "streaming-operator.image" -}}
{{- $repository := (.Values.image).repository | default .Chart.Name -}}
{{- if (.Values.image).digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository ((.Values.image).tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* "true", or empty when admission is turned off. */}}
{{- define "streaming-operator.webhookEnabled" -}}
{{- if ne (toString (.Values.webhook).enabled) "false" }}true{{ end -}}
{{- end -}}

{{- define "streaming-operator.webhookConfigName" -}}
{{- default (include "streaming-operator.fullname" .) (.Values.webhook).configName -}}
{{- end -}}

{{- define "streaming-operator.tlsMode" -}}
{{- ((.Values.webhook).tls).mode | default "self" -}}
{{- end -}}

{{/* The Secret that is mounted: only the modes other than self have one. */}}
{{- define "streaming-operator.tlsSecretName" -}}
{{- ((.Values.webhook).tls).secretName | default (printf "%s-webhook-tls" (include "streaming-operator.fullname" .)) -}}
{{- end -}}

{{- define "streaming-operator.tlsFolder" -}}
/etc/streaming-operator/tls
{{- end -}}

{{/* The name by which the API server calls the webhook; it is in the certificate. */}}
{{- define "streaming-operator.serviceHost" -}}
{{- printf "%s.%s.svc" (include "streaming-operator.fullname" .) .Release.Namespace -}}
{{- end -}}

{{/* An address with a port; called with a list of the root and the port. */}}
{{- define "streaming-operator.address" -}}
{{- $host := (index . 0).Values.listenAddress | default "0.0.0.0" -}}
{{- printf "%s:%d" (contains ":" $host | ternary (printf "[%s]" $host) $host) (int (index . 1)) -}}
{{- end -}}

{{- define "streaming-operator.webhookPort" -}}
{{- (.Values.webhook).port | default 9443 -}}
{{- end -}}

{{- define "streaming-operator.httpPort" -}}
{{- (.Values.http).port | default 8080 -}}
{{- end -}}

{{- define "streaming-operator.servicePort" -}}
{{- (.Values.service).port | default 443 -}}
{{- end -}}
