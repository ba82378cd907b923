{{/* Two releases never run the same pipelines. Where Helm may ask the cluster (not with `helm template`), it is told before
     anything is installed; an operator that is installed all the same finds it out itself, by the same rule, and runs none:
     of two releases that share a namespace the one whose ValidatingWebhookConfiguration is older runs its pipelines. */}}

{{/* The namespaces of a webhook's selector, as JSON; an empty list: all of them. */}}
{{- define "streaming-operator.selected" -}}
{{- $namespaces := list -}}
{{- range (.namespaceSelector).matchExpressions -}}
{{- if and (eq .key "kubernetes.io/metadata.name") (eq .operator "In") -}}
{{- $namespaces = .values -}}
{{- end -}}
{{- end -}}
{{- with ((.namespaceSelector).matchLabels) -}}
{{- with index . "kubernetes.io/metadata.name" -}}
{{- $namespaces = list . -}}
{{- end -}}
{{- end -}}
{{- toJson $namespaces -}}
{{- end -}}

{{/* Renders nothing; fails when an older release runs what this one is to run. */}}
{{- define "streaming-operator.refuseOverlap" -}}
{{- if include "streaming-operator.controllerEnabled" . -}}
{{- $watched := .Values.watchNamespaces | default list -}}
{{- $own := include "streaming-operator.webhookConfigName" . -}}
{{- $all := (lookup "admissionregistration.k8s.io/v1" "ValidatingWebhookConfiguration" "" "").items | default list -}}
{{- $rank := "" -}}
{{- range $all -}}
{{- if and (eq .metadata.name $own) (include "streaming-operator.webhookEnabled" $) -}}
{{- $rank = printf "%s %s" .metadata.creationTimestamp .metadata.uid -}}
{{- end -}}
{{- end -}}
{{- range $configuration := $all -}}
{{- $isOther := ne .metadata.name $own -}}
{{- $isBefore := or (not $rank) (lt (printf "%s %s" .metadata.creationTimestamp .metadata.uid) $rank) -}}
{{- $runs := ne (index (.metadata.annotations | default dict) "streams.sentry.io/runs-pipelines" | default "") "false" -}}
{{- if and $isOther $isBefore $runs -}}
{{- range .webhooks -}}
{{- if eq .name "validate.streamingpipelines.streams.sentry.io" -}}
{{- $theirs := include "streaming-operator.selected" . | fromJsonArray -}}
{{- $shared := list -}}
{{- range $theirs -}}
{{- if or (not $watched) (has . $watched) -}}{{- $shared = append $shared . -}}{{- end -}}
{{- end -}}
{{- if not $theirs -}}{{- $shared = $watched -}}{{- end -}}
{{- if or $shared (not (or $theirs $watched)) -}}
{{- $what := empty $shared | ternary "all namespaces" (join ", " $shared) -}}
{{- $who := printf "the release in namespace %s (ValidatingWebhookConfiguration %s)" ((.clientConfig.service).namespace | default "?") $configuration.metadata.name -}}
{{- fail (printf "at '/watchNamespaces': the pipelines of %s are run by %s: give each release namespaces of its own, or uninstall one of them" $what $who) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
