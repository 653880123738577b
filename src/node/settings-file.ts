import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { problem } from '../core/kit/index.ts'

/** The settings in a YAML file, not checked yet; an empty file holds none. `example` is a line that such a file has. Throws CONFIG_INVALID. */
export function readSettingsFile(file: string, example: string): Record<string, unknown> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw problem('CONFIG_INVALID', `${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  try {
    const parsed: unknown = parse(text) ?? {}
    if (isObject(parsed)) return parsed
  } catch (error) {
    throw problem('CONFIG_INVALID', `${file} is not YAML: ${(error as Error).message.split('\n')[0]}`)
  }
  throw problem('CONFIG_INVALID', `${file} holds no settings: it must be lines such as \`${example}\``)
}

/** Keys and values, not a list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
