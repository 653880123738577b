import { createRequire } from 'node:module'
import pLimit from 'p-limit'
import type PDFDocument from 'pdfkit'
import { type Block, blocksOf, type Script, type ScriptRun, scriptRuns } from '../../core/reports/index.ts'

type Document = InstanceType<typeof PDFDocument>

const { resolve } = createRequire(import.meta.url)
const fontFile = (script: Script, bold: boolean): string =>
  resolve(`@fontsource/noto-sans/files/noto-sans-${script}-${bold ? 700 : 400}-normal.woff`)

const margin = 56
const indentWidth = 16
const sizes = { 1: 18, 2: 14, 3: 12 } as const
const textSize = 10.5
/** Characters between two turns of the event loop: a long report, also of one line, must not hold up other requests. */
const charactersPerTurn = 4_000
/** Work of a run of text, as characters: short lines cost more than their length. */
const charactersPerRun = 50
/** The PDF ends there and refers to the Markdown file: one million short lines would take 20 seconds and 1 GB. */
const maxCharacters = 500_000
const maxRuns = 20_000
const pagesPerTurn = 8
/** A longer run of text is written in parts. */
const partLength = 1_000

export type ReportText = Readonly<{
  title: string
  /** Variables are filled in already. */
  markdown: string
  /** ISO 8601. */
  createdAt: string
}>

/** Documents of several megabytes stay in memory until they are complete. */
const oneAtATime = pLimit(1)

/**
 * Renders a report as PDF on A4, with the font embedded. Characters outside the languages of Europe show as a replacement character. A very long
 * report is cut, which its last line says.
 */
export const renderPdf = (report: ReportText): Promise<Buffer> => oneAtATime(() => render(report))

async function render({ title, markdown, createdAt }: ReportText): Promise<Buffer> {
  // Loaded by the first report, to save memory in a daemon without reports.
  const { default: Pdf } = await import('pdfkit')
  const info = { Title: title, Producer: 'Tenantry', Creator: 'Tenantry', CreationDate: new Date(createdAt) }
  // The first font file keeps pdfkit from loading a built-in font, which lacks most characters.
  const document = new Pdf({ size: 'A4', margin, bufferPages: true, lang: '', info, font: fontFile('latin', false) })
  const content = collect(document)
  const shown = markdown.slice(0, maxCharacters).split('\n', maxRuns).join('\n')
  const blocks = [{ kind: 'heading', level: 1, spans: [{ text: title, bold: true }] } as const, ...blocksOf(shown)]
  const written = { characters: 0, runs: 0 }
  for (const block of blocks) {
    if (written.runs >= maxRuns) break
    await writeBlock(document, block, written)
  }
  if (shown.length < markdown.length || written.runs >= maxRuns) await writeBlock(document, isCut, { characters: 0, runs: 0 })
  await endPages(document, title)
  document.end()
  return content
}

const isCut: Block = {
  kind: 'paragraph',
  spans: [{ text: 'This report is too long for a PDF. Its Markdown file has the whole text.', bold: true }],
}

const collect = (document: Document): Promise<Buffer> =>
  new Promise((done, failed) => {
    const chunks: Buffer[] = []
    document.on('data', (chunk: Buffer) => chunks.push(chunk))
    document.on('end', () => done(Buffer.concat(chunks)))
    document.on('error', failed)
  })

/** `characters`: since the last turn of the event loop. `runs`: of the whole document. */
type Written = { characters: number; runs: number }

async function writeBlock(document: Document, block: Block, written: Written): Promise<void> {
  written.runs += 1
  if (block.kind === 'rule') return writeRule(document)
  const size = block.kind === 'heading' ? sizes[block.level] : textSize
  const indent = block.kind === 'item' ? (block.depth + 1) * indentWidth : block.kind === 'quote' ? indentWidth : 0
  const spans = block.kind === 'heading' ? block.spans.map(({ text }) => ({ text, bold: true })) : block.spans
  document.fontSize(size)
  if (block.kind === 'item') writeMarker(document, block)
  const left = maxRuns - written.runs + 1
  const runs = spans.slice(0, left).flatMap(({ text, bold }) =>
    scriptRuns(text)
      .slice(0, left)
      .flatMap(inParts)
      .map((run) => ({ ...run, bold })),
  )
  const x = margin + indent
  document.x = x
  const shown = runs.slice(0, left)
  written.runs += Math.max(0, shown.length - 1)
  for (const [at, { script, text, bold }] of shown.entries()) {
    const width = document.page.width - margin - x
    document.font(fontFile(script, bold)).text(text, { width, continued: at < shown.length - 1 })
    written.characters += text.length + charactersPerRun
    if (written.characters < charactersPerTurn) continue
    written.characters = 0
    await new Promise(setImmediate)
  }
  if (runs.length === 0) document.moveDown()
  document.moveDown(block.kind === 'item' ? 0.15 : 0.5)
}

/** Parts that end behind a space. Words are shorter than a part, because longer ones are broken before. */
function inParts({ script, text }: ScriptRun): ScriptRun[] {
  const parts = text.match(new RegExp(`[^]{1,${partLength}}(?: |$)|[^]{1,${partLength}}`, 'g')) ?? []
  return parts.map((part) => ({ script, text: part }))
}

function writeRule(document: Document): void {
  const { y, page } = document
  document
    .moveTo(margin, y)
    .lineTo(page.width - margin, y)
    .lineWidth(0.5)
    .stroke('#999999')
    .fillColor('#000000')
  document.moveDown(0.5)
}

/** The marker is on the first line of the entry, so both move to the next page together. */
function writeMarker(document: Document, { depth, marker }: Block & { kind: 'item' }): void {
  if (document.y + document.currentLineHeight(true) > document.page.height - margin) document.addPage()
  const { y } = document
  document.font(fontFile('latin', false)).text(marker, margin + depth * indentWidth, y, { lineBreak: false })
  document.y = y
}

/** pdfkit would compress all pages in one turn at its end: each page is ended by itself, and none is left for that end. */
type Pages = Readonly<{ endPageMarkings: (page: object) => void; page: Document['page'] & Readonly<{ end: () => void }> }>

async function endPages(document: Document, title: string): Promise<void> {
  const { start, count } = document.bufferedPageRange()
  const shown = scriptRuns(title.slice(0, 80)).every(({ script }) => script === 'latin') ? `${title.slice(0, 80)} – ` : ''
  for (let page = start; page < start + count; page++) {
    document.switchToPage(page)
    const { width, height, margins } = document.page
    margins.bottom = 0 // text in the margin must not begin another page
    document.fontSize(8).font(fontFile('latin', false))
    document.text(`${shown}${page - start + 1}/${count}`, margin, height - margin / 2, { width: width - 2 * margin, lineBreak: false })
  }
  const pages = document as unknown as Pages
  for (let page = start; page < start + count; page++) {
    document.switchToPage(page)
    pages.endPageMarkings(pages.page)
    pages.page.end()
    if (page % pagesPerTurn === 0) await new Promise(setImmediate)
  }
  Object.assign(document, { _pageBuffer: [] })
}
