import { existsSync } from 'node:fs'
import { z } from 'zod'
import { fieldReasons } from '../../core/contract/index.ts'
import { type FieldReason, problem } from '../../core/kit/index.ts'
import type { Globals, Machine } from '../../node/command-line.ts'
import { packageRoot } from '../../node/package.ts'
import { readSettingsFile } from '../../node/settings-file.ts'

const List = z.union([
  z.array(z.string()),
  z.string().transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  ),
])

/** Every setting of an agent. The file has this shape; `boxesDir` is also TENANTRY_AGENT_BOXES_DIR, which wins. */
export const AgentSettings = z.strictObject({
  /** Where `enrol` turns to when it is given no --url. After that, the enrolment itself says which daemon is ours. */
  url: z.url({ protocol: /^https?$/ }).optional(),
  /** The agent's key, journals and records. Nobody else may read it. */
  stateDir: z.string().min(1).default('./.tenantry-agent'),
  /** Each box has a folder of its name in it. */
  boxesDir: z.string().min(1).default('./.tenantry-boxes'),
  /** What the names of its compose projects begin with. Agents that share one engine need different ones. */
  projectPrefix: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,20}-$/, 'must be lower-case letters, digits and hyphens, and end with a hyphen')
    .default('box-'),
  /**
   * What this host may run: repositories in full, or ending in `/*` for all below. Whoever holds the daemon cannot widen it.
   * Nothing runs while it is empty.
   */
  images: List.default([]),
  dockerHost: z
    .string()
    .regex(/^(unix|tcp):\/\//, 'must begin with unix:// or tcp://')
    .default('unix:///var/run/docker.sock'),
  /** Folder with registry credentials and the compose plugin. */
  dockerConfig: z.string().optional(),
  /** The docker client, when it is on none of the usual paths. */
  docker: z.string().optional(),
  restic: z.string().default('restic'),
  /** What new boxes are rendered from; the agent carries its own. */
  templateDir: z.string().default(() => packageRoot('config/box-template')),
  /** Addresses on which the edge of new boxes listens: for the world's proxy, and for the daemon. */
  publicBind: z.union([z.ipv4(), z.ipv6()]).default('127.0.0.1'),
  platformBind: z.union([z.ipv4(), z.ipv6()]).default('127.0.0.1'),
  maxUploadMegabytes: z.coerce.number().int().min(1).max(10_000).default(100),
  /** Boxes worked on at once. */
  parallel: z.coerce.number().int().min(1).max(50).default(4),
  /** How long commands may go on after SIGTERM. What is not over then goes on at the next start. */
  drainMs: z.coerce.number().int().min(0).default(30_000),
  /** How long an image stays that no box has any more; 0: for ever. */
  keepImagesDays: z.coerce.number().int().min(0).max(3650).default(30),
  /** The agent replaces its key when it is so old; 0: only when asked to. */
  rotateKeyDays: z.coerce.number().int().min(0).max(3650).default(30),
  log: z.enum(['pretty', 'json']).optional(),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
})
export type AgentSettings = z.output<typeof AgentSettings>

type Environment = Readonly<Record<string, string | undefined>>

const prefix = 'TENANTRY_AGENT_'
const variableOf = (key: string) => `${prefix}${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`

/** Reads file and environment (which wins) into one frozen value. Throws CONFIG_INVALID naming every key that is unknown or wrong. */
export function loadAgentSettings({ file, env }: { file?: string | undefined; env: Environment }): AgentSettings {
  const result = AgentSettings.safeParse({
    ...(file ? readSettingsFile(file, 'stateDir: /var/lib/tenantry-agent') : {}),
    ...fromEnvironment(env),
  })
  if (!result.success) throw invalid(file ?? 'the environment', fieldReasons(result.error))
  return Object.freeze(result.data)
}

function fromEnvironment(env: Environment): Record<string, string> {
  const keys = new Map(Object.keys(AgentSettings.shape).map((key) => [variableOf(key), key]))
  const given = Object.entries(env).filter(([name, value]) => name.startsWith(prefix) && value !== undefined)
  const unknown = given.filter(([name]) => !keys.has(name))
  if (unknown.length > 0)
    throw invalid(
      'the environment',
      unknown.map(([path]) => ({ path, reason: 'is not a known setting' })),
    )
  return Object.fromEntries(given.map(([name, value]) => [keys.get(name) as string, value as string]))
}

const invalid = (where: string, details: readonly FieldReason[]) =>
  problem('CONFIG_INVALID', `${where}: ${details.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`, { details })

export { type Globals, type Machine, print } from '../../node/command-line.ts'

/** The file that was named, or the usual one where it is there. */
export const settingsFileOf = ({ usualSettings }: Machine, { config }: Globals): string | undefined =>
  config ?? (usualSettings !== undefined && existsSync(usualSettings) ? usualSettings : undefined)

export const settingsOf = (machine: Machine, options: Globals): AgentSettings =>
  loadAgentSettings({ env: machine.env, file: settingsFileOf(machine, options) })
