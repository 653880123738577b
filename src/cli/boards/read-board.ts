import type { BoardDefinition, SimulationScript } from '../../core/boards/index.ts'
import { problem } from '../../core/kit/index.ts'
import { readTextFile } from '../kit/index.ts'

/** The value of a JSON or YAML file. Throws USAGE. */
export async function readDataFile(file: string): Promise<unknown> {
  const text = await readTextFile(file)
  const { parse } = await import('yaml')
  try {
    return parse(text, { maxAliasCount: 0 })
  } catch (error) {
    throw problem('USAGE', `${file} is neither JSON nor YAML: ${(error as Error).message.split('\n', 1)[0]}`)
  }
}

/** A board in a file: a bundle, a board as the API returns it, or its definition alone. Throws USAGE, VALIDATION. */
export async function readBoardFile(file: string): Promise<{ name: string; definition: BoardDefinition }> {
  const value = await readDataFile(file)
  const { BoardDefinition: Definition, boardFromBundle, FlowBundle } = await import('../../core/boards/index.ts')
  const { parsePart } = await import('../../core/contract/index.ts')
  const parts = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>
  if ('templateExport' in parts) return boardFromBundle(parsePart(FlowBundle, value, ''))
  const name = typeof parts.name === 'string' ? parts.name : file
  return { name, definition: parsePart(Definition, 'definition' in parts ? parts.definition : value, '') }
}

/** The script of a simulation; without a file it has no answers. Throws USAGE, VALIDATION. */
export async function readScript(file: string | undefined): Promise<SimulationScript> {
  const { SimulationScript: Script } = await import('../../core/boards/index.ts')
  const { parsePart } = await import('../../core/contract/index.ts')
  return parsePart(Script, file === undefined ? {} : await readDataFile(file), '')
}
