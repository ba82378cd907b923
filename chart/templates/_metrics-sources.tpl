{{/* The metrics sources: a file for each, which says where the files of its Secrets are mounted. */}}

{{- define "streaming-operator.metricsSourcesName" -}}
{{- printf "%s-metrics-sources" (include "streaming-operator.fullname" .) -}}
{{- end -}}

{{- define "streaming-operator.metricsSourcesFolder" -}}
/etc/streaming-operator/metrics-sources
{{- end -}}

{{- define "streaming-operator.metricsSecretsFolder" -}}
/etc/streaming-operator/metrics-secrets
{{- end -}}

{{/* The file of one source; called with a list of its name and its values. */}}
{{- define "streaming-operator.metricsSource" -}}
{{- $source := index . 1 -}}
{{- $secrets := printf "%s/%s" (include "streaming-operator.metricsSecretsFolder" .) (index . 0) -}}
url: {{ $source.url | quote }}
{{- if $source.authSecret }}
bearerTokenFile: {{ $secrets }}/token
{{- else if $source.basicAuthSecret }}
basicAuth:
  usernameFile: {{ $secrets }}/username
  passwordFile: {{ $secrets }}/password
{{- else if $source.serviceAccountToken }}
bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
{{- end }}
{{- if or $source.caSecret $source.caConfigMap }}
caFile: {{ $secrets }}/ca.crt
{{- end }}
{{- with $source.headers }}
headers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $source.timeout }}
timeout: {{ . }}
{{- end }}
{{- with $source.maxConcurrent }}
maxConcurrent: {{ int . }}
{{- end }}
{{- with $source.bodyLimitBytes }}
bodyLimitBytes: {{ int . }}
{{- end }}
{{- end -}}

{{/* The data of the ConfigMap; empty without sources. */}}
{{- define "streaming-operator.metricsSourcesData" -}}
{{- range $name, $source := .Values.metricsSources }}
{{ $name }}.yaml: |
  {{- include "streaming-operator.metricsSource" (list $name $source) | nindent 2 }}
{{- end }}
{{- end -}}

{{/* What the Secrets and ConfigMaps of all sources project into one folder; empty when none has any. */}}
{{- define "streaming-operator.metricsSecrets" -}}
{{- range $name, $source := .Values.metricsSources }}
{{- with $source.authSecret }}
- secret:
    name: {{ .name }}
    items: [{key: {{ .key | default "token" }}, path: {{ $name }}/token}]
{{- end }}
{{- with $source.basicAuthSecret }}
- secret:
    name: {{ .name }}
    items: [{key: {{ .usernameKey | default "username" }}, path: {{ $name }}/username}, {key: {{ .passwordKey | default "password" }}, path: {{ $name }}/password}]
{{- end }}
{{- with $source.caSecret }}
- secret:
    name: {{ .name }}
    items: [{key: {{ .key | default "ca.crt" }}, path: {{ $name }}/ca.crt}]
{{- end }}
{{- with $source.caConfigMap }}
- configMap:
    name: {{ .name }}
    items: [{key: {{ .key | default "ca.crt" }}, path: {{ $name }}/ca.crt}]
{{- end }}
{{- end }}
{{- end -}}

{{/* The ports in the URLs of all sources, one a line. */}}
{{- define "streaming-operator.metricsSourcePorts" -}}
{{- range $name, $source := .Values.metricsSources }}
{{- $url := urlParse $source.url }}
{{- with regexFind ":[0-9]+$" $url.host }}
{{ trimPrefix ":" . }}
{{- else }}
{{ eq $url.scheme "https" | ternary 443 80 }}
{{- end }}
{{- end }}
{{- end -}}
