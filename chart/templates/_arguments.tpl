{{/* The arguments of the operator: each flag of `streaming-operator run` once at most. A value of `settings` is the flag of
     its name (leaseDuration: --lease-duration); the other flags follow from values that other objects depend on too. */}}
{{- define "streaming-operator.arguments" -}}
{{- if eq (include "streaming-operator.webhookPort" .) (include "streaming-operator.httpPort" .) }}
{{- fail "webhook.port and http.port are the same" }}
{{- end }}
{{- if not (or (include "streaming-operator.webhookEnabled" .) (include "streaming-operator.controllerEnabled" .)) }}
{{- fail "webhook.enabled and settings.controllerEnabled are both false: nothing is left to do" }}
{{- end -}}
- run
- --namespace={{ .Release.Namespace }}
- --http-addr={{ include "streaming-operator.address" (list . (include "streaming-operator.httpPort" .)) }}
{{- range .Values.watchNamespaces }}
- --watch-namespace={{ . }}
{{- end }}
{{- with .Values.workloadNamespace }}
- --workload-namespace={{ . }}
{{- end }}
{{- if include "streaming-operator.webhookEnabled" . }}
- --webhook-addr={{ include "streaming-operator.address" (list . (include "streaming-operator.webhookPort" .)) }}
- --webhook-config-name={{ include "streaming-operator.webhookConfigName" . }}
{{- if eq (include "streaming-operator.tlsMode" .) "self" }}
- --tls-mode=self
- --tls-host={{ include "streaming-operator.serviceHost" . }}
{{- range ((.Values.webhook).tls).hosts }}
- --tls-host={{ . }}
{{- end }}
{{- else }}
- --tls-mode=files
- --tls-dir={{ include "streaming-operator.tlsFolder" . }}
{{- end }}
{{- else }}
- --webhook-enabled=false
{{- end }}
{{- range $name, $source := .Values.metricsSources }}
- --metrics-source={{ $name }}={{ include "streaming-operator.metricsSourcesFolder" $ }}/{{ $name }}.yaml
{{- end }}
{{- range $key, $value := .Values.settings }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
- --{{ kebabcase $key }}={{ kindIs "float64" $value | ternary (int $value) $value }}
{{- end }}
{{- end }}
{{- end -}}
