// Reports of boards and automation: the blocks of their Markdown, and the part of the embedded font that writes each character.
// Pure: it renders no document and stores nothing. Never drops a line of the text.
export { type Block, blocksOf } from './blocks.ts'
export { escapeMarkdown } from './escape.ts'
export { type Script, type ScriptRun, scriptRuns } from './fonts.ts'
