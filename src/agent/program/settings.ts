import { existsSync } from 'node:fs'
import { z } from 'zod'
import { fieldReasons } from '../../core/contract/index.ts'
import { RegistryMirror, RegistryName } from '../../core/hosts/index.ts'
import { type FieldReason, problem, wrongCollector } from '../../core/kit/index.ts'
import type { Globals, Machine as ProgramMachine } from '../../node/command-line.ts'
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

const MirrorEntry = z
  .string()
  .refine(
    (entry) =>
      entry.includes('=') &&
      RegistryName.safeParse(entry.split('=', 1)[0]).success &&
      RegistryMirror.safeParse(entry.slice(entry.indexOf('=') + 1)).success,
    'must be registry=mirror, such as docker.io=mirror.example:5000/hub',
  )

/** All settings of an agent, as in the settings file. Environment variables such as TENANTRY_AGENT_BOXES_DIR override them. */
export const AgentSettings = z.strictObject({
  /** Default of `enrol --url`; later the enrolment stores the daemon's URL. */
  url: z.url({ protocol: /^https?$/ }).optional(),
  /** Key, journals and records of the agent; must be private. */
  stateDir: z.string().min(1).default('./.tenantry-agent'),
  /** Parent of the box folders, which are named by slug. */
  boxesDir: z.string().min(1).default('./.tenantry-boxes'),
  /** Prefix of compose project names. Agents that share an engine need different prefixes. */
  projectPrefix: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,20}-$/, 'must be lower-case letters, digits and hyphens, and end with a hyphen')
    .default('box-'),
  /** Allowed images: full repositories, or prefixes that end in `/*`. The daemon cannot extend the list; empty allows none. */
  images: List.default([]),
  /** Allowed registry mirrors, as `registry=mirror`. The daemon can only choose among them; without an entry the registry itself is used. */
  mirrors: List.pipe(z.array(MirrorEntry)).default([]),
  dockerHost: z
    .string()
    .regex(/^(unix|tcp):\/\//, 'must begin with unix:// or tcp://')
    .default('unix:///var/run/docker.sock'),
  /** Folder with registry credentials and the compose plugin. */
  dockerConfig: z.string().optional(),
  /** Path of the docker client, if not on the default paths. */
  docker: z.string().optional(),
  restic: z.string().default('restic'),
  /** Templates for new boxes; the package includes a default. */
  templateDir: z.string().default(() => packageRoot('config/box-template')),
  /** Listen addresses of the edge of new boxes: for the public proxy and for the daemon. */
  publicBind: z.union([z.ipv4(), z.ipv6()]).default('127.0.0.1'),
  platformBind: z.union([z.ipv4(), z.ipv6()]).default('127.0.0.1'),
  maxUploadMegabytes: z.coerce.number().int().min(1).max(10_000).default(100),
  /** Maximum number of boxes changed at once. */
  parallel: z.coerce.number().int().min(1).max(50).default(4),
  /** Time for running commands after SIGTERM; unfinished ones resume at the next start. */
  drainMs: z.coerce.number().int().min(0).default(30_000),
  /** Days an unused image is retained; 0: forever. */
  keepImagesDays: z.coerce.number().int().min(0).max(3650).default(30),
  /** Days until the agent replaces its key; 0: only on request. */
  rotateKeyDays: z.coerce.number().int().min(0).max(3650).default(30),
  /** The base address of a collector (OTLP/HTTP); without it the agent sends no spans. */
  tracingEndpoint: z
    .string()
    .superRefine((text, { addIssue }) => {
      const message = wrongCollector(text)
      if (message) addIssue({ code: 'custom', message })
    })
    .optional(),
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
  const input = Object.entries(env).filter(([name, value]) => name.startsWith(prefix) && value !== undefined)
  const unknown = input.filter(([name]) => !keys.has(name))
  if (unknown.length > 0)
    throw invalid(
      'the environment',
      unknown.map(([path]) => ({ path, reason: 'is not a known setting' })),
    )
  return Object.fromEntries(input.map(([name, value]) => [keys.get(name) as string, value as string]))
}

const invalid = (where: string, details: readonly FieldReason[]) =>
  problem('CONFIG_INVALID', `${where}: ${details.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`, { details })

export { type Globals, print } from '../../node/command-line.ts'

/** `engineRetryMs`: the first pause before a request to the engine is repeated; 0 reports an engine that is down at once. */
export type Machine = ProgramMachine & Readonly<{ engineRetryMs?: number }>

/** The file from --config, or the default file if it exists. */
export const settingsFileOf = ({ usualSettings }: Machine, { config }: Globals): string | undefined =>
  config ?? (usualSettings !== undefined && existsSync(usualSettings) ? usualSettings : undefined)

export const settingsOf = (machine: Machine, options: Globals): AgentSettings =>
  loadAgentSettings({ env: machine.env, file: settingsFileOf(machine, options) })
