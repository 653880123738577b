import { resolve } from 'node:path'
import { z } from 'zod'
import { fieldReasons } from '../../core/contract/index.ts'
import { type FieldReason, isLoopback, problem } from '../../core/kit/index.ts'
import { isObject, readSettingsFile } from '../../node/settings-file.ts'
import { Settings } from './settings.ts'

/** Settings with what follows from them. */
export type Config = Settings &
  Readonly<{ databaseUrl: string; baseUrl: string; production: boolean; totpRequired: boolean; origins: Origins }>

/** The source of each setting that is not the default, by its key: `probe.spacingMs`. */
type Origins = Readonly<Record<string, 'file' | 'environment'>>

type Environment = Readonly<Record<string, string | undefined>>

/** Variables of the other programs that share the prefix. */
const foreign = /^TENANTRY_(URL|TOKEN|DEBUG|TESTBED_\w+|AGENT_\w+|RESTIC)$/

/**
 * Reads file and environment (which wins) into one frozen value. Throws CONFIG_INVALID naming every key that is unknown or wrong.
 */
export function loadConfig({ file, env }: { file?: string; env: Environment }): Config {
  const fromFile = file ? readSettingsFile(file, 'listen: 127.0.0.1:8440') : {}
  const { merged, unknown } = merge(fromFile, env)
  const result = Settings.safeParse(merged)
  const wrong = result.success ? [] : fieldReasons(result.error).map((reason) => withVariable(reason, env))
  if (!result.success || unknown.length > 0) throw invalid([...unknown, ...wrong], file)
  return Object.freeze({ ...derive(result.data), origins: originsOf(fromFile, env) })
}

/** Names the variable beside the path when the wrong value came from the environment. */
function withVariable({ path, reason }: FieldReason, env: Environment): FieldReason {
  const [variable] =
    [...variableNames()].find(([name, key]) => env[name] !== undefined && key.join('.') === path.replace(/\.\d+$/, '')) ?? []
  return { path, reason: variable ? `${reason} (${variable})` : reason }
}

const invalid = (details: readonly FieldReason[], file?: string) =>
  problem('CONFIG_INVALID', `${file ?? 'the environment'}: ${details.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`, {
    details,
  })

function merge(fromFile: Record<string, unknown>, env: Environment): { merged: Record<string, unknown>; unknown: FieldReason[] } {
  const merged = structuredClone(fromFile)
  const known = variableNames()
  const unknown: FieldReason[] = []
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('TENANTRY_') || value === undefined || foreign.test(name)) continue
    const path = known.get(name)
    if (path) assign(merged, path, value)
    else unknown.push({ path: name, reason: 'is not a known setting' })
  }
  return { merged, unknown }
}

function assign(target: Record<string, unknown>, path: readonly string[], value: string): void {
  const [first = '', ...rest] = path
  if (rest.length === 0) {
    target[first] = value
    return
  }
  target[first] ??= {}
  const inner = target[first]
  if (isObject(inner)) assign(inner, rest, value) // the schema rejects other values with their path
}

/** `TENANTRY_PROBE_SPACING_MS` → `probe.spacingMs`, for every key. */
export function variableNames(): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, readonly string[]>()
  const walk = (shape: Record<string, unknown>, path: readonly string[]) => {
    for (const [key, inner] of Object.entries(shape)) {
      const object = unwrap(inner as z.ZodType)
      if (object) walk(object.shape, [...path, key])
      else names.set(`TENANTRY_${[...path, key].map(upperSnake).join('_')}`, [...path, key])
    }
  }
  walk(Settings.shape, [])
  return names
}

const upperSnake = (key: string) =>
  key
    .replace(/[A-Z]/g, (letter) => `_${letter}`)
    .replace(/([a-z])([0-9])/g, '$1$2')
    .toUpperCase()

function unwrap(schema: z.ZodType): z.ZodObject | undefined {
  if (schema instanceof z.ZodObject) return schema
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional || schema instanceof z.ZodDefault)
    return unwrap(schema.unwrap() as z.ZodType)
  return undefined
}

function originsOf(fromFile: Record<string, unknown>, env: Environment): Origins {
  const origins: Record<string, 'file' | 'environment'> = {}
  for (const [variable, path] of variableNames()) {
    const inFile = path.reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), fromFile)
    if (env[variable] !== undefined) origins[path.join('.')] = 'environment'
    else if (inFile !== undefined) origins[path.join('.')] = 'file'
  }
  return origins
}

function derive(settings: Settings): Omit<Config, 'origins'> {
  const baseUrl = (settings.publicUrl ?? `http://${settings.listen}`).replace(/\/$/, '')
  const databaseUrl = settings.database ?? `sqlite:${resolve(settings.dataDir, 'tenantry.db')}`
  const production = !isLoopback(new URL(baseUrl)) || databaseUrl.startsWith('postgres')
  return { ...settings, baseUrl, databaseUrl, production, totpRequired: settings.admin.requireTotp ?? production }
}
