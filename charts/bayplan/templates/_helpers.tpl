{{/* Name of the chart in labels and names. */}}
{{- define "bayplan.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Name of the release's objects. */}}
{{- define "bayplan.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "bayplan.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "bayplan.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "bayplan.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "bayplan.fullname" .) }}
{{- end }}

{{/* Labels that select the pods. They never change: a Deployment's selector is immutable. */}}
{{- define "bayplan.selectorLabels" -}}
app.kubernetes.io/name: {{ include "bayplan.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: scheduler
{{- end }}

{{- define "bayplan.standardLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: bayplan
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/*
Labels and annotations of an object's metadata. Called with a dict: root (the chart's context),
labels and annotations (what this object has beyond those of every object; both may be missing).
The first of the merged maps wins: no value of a user may change the selector's labels.
*/}}
{{- define "bayplan.metadata" -}}
{{- $selector := include "bayplan.selectorLabels" .root | fromYaml }}
{{- $standard := include "bayplan.standardLabels" .root | fromYaml -}}
labels:
  {{- merge $selector (.labels | default dict) .root.Values.commonLabels $standard | toYaml | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Image by registry, repository, tag and digest. */}}
{{- define "bayplan.image" -}}
{{- with .Values.image.registry }}{{ . }}/{{ end }}
{{- .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{/* The profiles to create, as YAML `profiles: [...]`. */}}
{{- define "bayplan.profiles" -}}
{{- $default := dict "name" "bayplan" "spec" (dict "schedulerName" "bayplan") }}
{{- dict "profiles" (.Values.profiles | default (list $default)) | toYaml }}
{{- end }}

{{/* A duration such as 1m30s in milliseconds. */}}
{{- define "bayplan.milliseconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 }}
{{- $sum := 0 }}
{{- range regexFindAll "[0-9]+(ms|s|m|h)" . -1 }}
{{- $sum = add $sum (mul (regexFind "^[0-9]+" . | int64) (get $units (regexFind "[a-z]+$" .))) }}
{{- end }}
{{- $sum }}
{{- end }}
