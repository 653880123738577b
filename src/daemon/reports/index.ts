// Reports of boards and automation as files of a space: Markdown, and PDF with an embedded font for the languages of Europe.
// Decides the ids of the files from the caller's key, so that a repeated job stores a report once.
// Knows neither boards nor automation; fills in no variables.
export { type StoredReport, storeReport } from './store-report.ts'
