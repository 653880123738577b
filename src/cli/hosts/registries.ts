import type { RegistryEntry } from '../../core/hosts/index.ts'
import { problem } from '../../core/kit/index.ts'
import { ago, type Column, type Context, clean, command, flag, readSecretLines, type Style, table, text } from '../kit/index.ts'

type Input = Readonly<{
  registry?: string
  host: string | undefined
  allHosts: boolean
  mirror: string | undefined
  username: string | undefined
  passwordFile: string | undefined
}>

type RegistriesResult =
  | Readonly<{ registries: readonly RegistryEntry[] }>
  | RegistryEntry
  | Readonly<{ removed: string; host: string | null }>

export const registries = command('registries <list|set|remove> [registry]', 'Manage registry mirrors and credentials', {
  options: {
    host: text('--host <name>', 'apply to one host'),
    allHosts: flag('--all-hosts', 'apply to all hosts without an entry of their own'),
    mirror: text('--mirror <host:port/path>', 'mirror to try before the registry'),
    username: text('--username <name>', 'user name at this registry (for a mirror: use its own entry)'),
    passwordFile: text('--password-file <file>', 'file with the password on line 1 (- is stdin)'),
  },
  run: async (context, { 'list|set|remove': action, ...input }): Promise<RegistriesResult> => {
    if (action === 'list') return context.api.hosts.listRegistries()
    if (action === 'set') return set(context, input)
    if (action === 'remove') return remove(context, input)
    throw problem('USAGE', `unknown action ${action}; use list, set or remove`)
  },
  view: (result, style) => ('registries' in result ? registryList(result, style) : registryView(result)),
  examples: [
    'hosts registries list',
    'hosts registries set docker.io --all-hosts --mirror mirror.example:5000/hub',
    'hosts registries set registry.example --host host-1 --username puller --password-file /root/registry-password',
    'hosts registries remove docker.io --all-hosts',
  ].map((line) => line.replace(/^hosts /, '')),
})

async function set(context: Context, input: Input): Promise<RegistryEntry> {
  const { mirror, username, passwordFile } = input
  const password =
    passwordFile === undefined
      ? await promptedPassword(context, input)
      : (await readSecretLines(context, passwordFile, 'registry password'))[0]
  const fields = { ...(mirror ? { mirror } : {}), ...(username ? { username } : {}), ...(password ? { password } : {}) }
  return context.api.hosts.setRegistry({ body: { ...entryKey(input), ...fields } })
}

async function remove({ api }: Context, input: Input) {
  const key = entryKey(input)
  await api.hosts.removeRegistry({ body: key })
  return { removed: key.registry, host: key.host }
}

/** Requires --host or --all-hosts, so that no omission sets a password for the fleet. */
function entryKey({ registry, host, allHosts }: Input): { registry: string; host: string | null } {
  if (!registry) throw problem('USAGE', 'registry missing; pass one such as docker.io or registry.example:5000')
  if ((host === undefined) === !allHosts) throw problem('USAGE', 'pass either --host <name> or --all-hosts')
  return { registry, host: host ?? null }
}

/** Prompts for the password unless one is stored for this user name. */
async function promptedPassword({ api, ask }: Context, input: Input): Promise<string | undefined> {
  if (!input.username) return undefined
  const key = entryKey(input)
  const { registries: entries } = await api.hosts.listRegistries()
  const stored = entries.find(({ registry, host }) => registry === key.registry && host === key.host)
  if (stored?.username === input.username && stored.hasPassword) return undefined
  return ask.password(`Password for ${input.username}`, 'pass --password-file <file> (- is stdin)')
}

const accountOf = ({ username, hasPassword }: RegistryEntry) => username && `${clean(username)}${hasPassword ? ', password stored' : ''}`

const columns = ({ now }: Style): Column<RegistryEntry>[] => [
  { title: 'REGISTRY', value: ({ registry }) => registry, priority: 1, minWidth: 12 },
  { title: 'HOST', value: ({ host }) => host ?? 'all', priority: 1 },
  { title: 'MIRROR', value: ({ mirror }) => mirror, priority: 2, minWidth: 12 },
  { title: 'ACCOUNT', value: accountOf, priority: 2, minWidth: 12 },
  { title: 'UPDATED', value: ({ updatedAt }) => ago(updatedAt, now), priority: 4 },
  { title: 'UPDATED BY', value: ({ updatedBy }) => updatedBy, priority: 5 },
]

const registryList = ({ registries }: { registries: readonly RegistryEntry[] }, style: Style): string =>
  registries.length === 0 ? 'No registry settings.' : table(style, columns(style), registries)

function registryView(result: Exclude<RegistriesResult, { registries: unknown }>): string {
  if ('removed' in result) return `Removed the settings of ${result.removed} for ${result.host ?? 'all hosts'}.`
  const parts = [result.mirror && `mirror ${result.mirror}`, accountOf(result) && `account ${accountOf(result)}`].filter(Boolean)
  return `Saved settings of ${result.registry} for ${result.host ?? 'all hosts'}: ${parts.join(', ')}`
}
