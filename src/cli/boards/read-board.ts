import type { YAMLParseError } from 'yaml'
import type { z } from 'zod'
import type { BoardDefinition, SimulationScript } from '../../core/boards/index.ts'
import { type FieldReason, isProblem, problem } from '../../core/kit/index.ts'
import { readTextFile } from '../kit/index.ts'

/** The value of a JSON or YAML file. Throws USAGE. */
async function readDataFile(file: string): Promise<unknown> {
  const text = await readTextFile(file, /^brd_\w+$/.test(file) ? `for a stored board add --tenant <slug>` : '')
  if (text.trim() === '') throw problem('USAGE', `${file} is empty`)
  const { parse } = await import('yaml')
  try {
    return parse(text, { maxAliasCount: 0 })
  } catch (error) {
    throw problem('USAGE', `${file} is neither JSON nor YAML: ${syntaxFault(error as YAMLParseError)}`)
  }
}

const faults: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'a name is used twice',
  TAB_AS_INDENT: 'a line is indented with a tab',
  BAD_INDENT: 'a line is indented wrongly, or a bracket is not closed',
}

/** The messages of the parser are in the words of YAML, also for a file of JSON. */
function syntaxFault({ code, linePos, message }: Partial<YAMLParseError>): string {
  const [at] = linePos ?? []
  if (code === undefined || at === undefined) return String(message?.split('\n', 1)[0]).replace(/:$/, '')
  return `${faults[code] ?? 'a bracket, comma, colon or quotation mark is missing or wrong'} near line ${at.line}, column ${at.col}`
}

/** The bundle in a file, which the daemon validates. Throws USAGE, also for a board that is no bundle. */
export async function readBundleFile(file: string): Promise<unknown> {
  const value = await readDataFile(file)
  const parts = (typeof value === 'object' && value !== null ? value : {}) as Parts
  if ('templateExport' in parts) return value
  const isBoard = 'elements' in parts || 'definition' in parts
  const fix = isBoard
    ? 'create it with POST /api/platform/v1/cascade-boards, as a user of the tenant with manageBoards'
    : 'pass a file that tenantry boards export has written'
  throw problem('USAGE', `${file} is ${isBoard ? 'a board, not an export of one' : 'not an export of a board'}. fix: ${fix}`)
}

type Parts = Readonly<Record<string, unknown>>

/** A board in a file: a bundle, a board as the API returns it, or its definition alone. Throws USAGE, VALIDATION with the file. */
export async function readBoardFile(file: string): Promise<{ name: string; definition: BoardDefinition }> {
  const value = await readDataFile(file)
  const { BoardDefinition: Definition, boardFromBundle, boardsContract, FlowBundle } = await import('../../core/boards/index.ts')
  const parts = (typeof value === 'object' && value !== null ? value : {}) as Parts
  if ('templateExport' in parts) {
    const bundle = await parseFile(file, FlowBundle, value)
    return inFile(file, value, () => boardFromBundle(bundle))
  }
  if (!('definition' in parts)) return { name: file, definition: await parseFile(file, Definition, value) }
  const { name = file, description = '', definition } = parts
  const Stored = boardsContract.createBoard.body.pick({ name: true, description: true, definition: true })
  return parseFile(file, Stored, { name, description, definition })
}

/** The script of a simulation; without a file it has no answers. Throws USAGE, VALIDATION with the file. */
export async function readScript(file: string | undefined): Promise<SimulationScript> {
  const { SimulationScript: Script } = await import('../../core/boards/index.ts')
  return file === undefined ? Script.parse({}) : parseFile(file, Script, await readDataFile(file))
}

async function parseFile<Schema extends z.ZodType>(file: string, schema: Schema, value: unknown): Promise<z.output<Schema>> {
  const { parsePart } = await import('../../core/contract/index.ts')
  return inFile(file, value, () => parsePart(schema, value, ''))
}

/** Refusals name the file, and an element by its id: an index alone is found by counting only. */
function inFile<Result>(file: string, value: unknown, read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    if (!isProblem(error, 'VALIDATION')) throw error
    const details = (error.details ?? []).map(({ path, reason }): FieldReason => ({ path: placeOf(value, path), reason }))
    const [first] = details
    if (!first) throw error
    const more = details.length > 1 ? ` (and ${details.length - 1} more)` : ''
    throw problem('VALIDATION', `${file}: ${first.path} ${first.reason}${more}`, { details })
  }
}

/** `secure (element 6): dueAt` for `elements.5.config.dueAt`; any other path as it is. */
function placeOf(value: unknown, path: string): string {
  if (path === '(whole)') return 'the content'
  const [, before = '', list = '', nth = '', rest = ''] = /^(.*?)\b(elements|components|edges)\.(\d+)(?:\.(.*))?$/.exec(path) ?? []
  if (list === '') return path
  const steps = [...before.replace(/^bundle\./, '').split('.'), list, nth].filter(Boolean)
  const one = steps.reduce<unknown>((inner, key) => (inner as Parts | undefined)?.[key], value) as Parts | undefined
  const number = `${list === 'edges' ? 'edge' : list === 'elements' ? 'element' : 'component'} ${Number(nth) + 1}`
  const field = rest.replace(/^config\./, '')
  return `${nameOf(one, number)}${field === '' ? '' : `: ${field}`}`
}

function nameOf(one: Parts | undefined, number: string): string {
  const [source, target] = [one?.source ?? one?.sourceLocalId, one?.target ?? one?.targetLocalId]
  if (typeof source === 'string' && typeof target === 'string') return `${number} (${source} to ${target})`
  const id = one?.id ?? one?._localId
  return typeof id === 'string' ? `${id} (${number})` : number
}
