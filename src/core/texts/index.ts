// Texts for the users of an organisation in their own language: one file for each language, with the same keys and placeholders.
// It decides which catalogue a locale gets, and how times and durations are written. It knows no user and sends nothing.
export { catalogues, directionOf, durationIn, type TextLanguage, textIn, textLanguageOf, timeIn } from './catalogues.ts'
export type { TextKey } from './en.ts'
export { durationText, timeText } from './format.ts'
