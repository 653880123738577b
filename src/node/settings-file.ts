import { parse } from 'yaml'
import { isProblem, problem } from '../core/kit/index.ts'
import { readUtf8Sync } from './utf8-file.ts'

/** Reads unvalidated settings from a YAML file. `example` is a valid line for the error message. Throws CONFIG_INVALID. */
export function readSettingsFile(file: string, example: string): Record<string, unknown> {
  let text: string
  try {
    text = readUtf8Sync(file)
  } catch (error) {
    if (isProblem(error)) throw error
    throw problem('CONFIG_INVALID', `Cannot read ${file}: ${(error as NodeJS.ErrnoException).code}`)
  }
  try {
    const parsed: unknown = parse(text) ?? {}
    if (isObject(parsed)) return parsed
  } catch (error) {
    throw problem('CONFIG_INVALID', `${file} is not YAML: ${(error as Error).message.split('\n')[0]}`)
  }
  throw problem('CONFIG_INVALID', `${file} does not contain settings. fix: write lines such as \`${example}\``)
}

/** True for an object that is not an array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
