// Completes the adoption of an observed box: compares it with the box template, shows the changes as one diff, then applies exactly that
// diff, probes the box, and rolls everything back on failure. Previous files are kept as backups.
// Reports a finding for each difference that it cannot apply. Never changes a version or a volume and never shows a secret.
export { type CompletionDeps, complete } from './complete.ts'
