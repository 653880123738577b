import type { RegistryEntry } from '../../core/hosts/index.ts'
import { problem } from '../../core/kit/index.ts'
import { ago, type Column, type Context, clean, command, flag, readTextFile, type Style, table, text } from '../kit/index.ts'

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

export const registries = command(
  'registries <list|set|remove> [registry]',
  'By which mirrors and as whom agents pull images: list, set or remove',
  {
    host: text('--host <name>', 'for one host'),
    allHosts: flag('--all-hosts', 'for all hosts that have nothing of their own'),
    mirror: text('--mirror <host:port/path>', 'asked first; the registry itself when it does not answer or lacks an image'),
    username: text('--username <name>', 'the account at this registry; the account of a mirror is set under its own host'),
    passwordFile: text('--password-file <file>', 'its password, on the first line (- is stdin); left away, the one that is kept stays'),
  },
  async (context, { 'list|set|remove': action, ...given }): Promise<RegistriesResult> => {
    if (action === 'list') return context.api.hosts.listRegistries()
    if (action === 'set') return set(context, given)
    if (action === 'remove') return remove(context, given)
    throw problem('USAGE', `registries can list, set or remove, not ${action}`)
  },
  (result, style) => ('registries' in result ? registryList(result, style) : registryView(result)),
  {
    examples: [
      'hosts registries list',
      'hosts registries set docker.io --all-hosts --mirror mirror.example:5000/hub',
      'hosts registries set registry.example --host host-1 --username puller --password-file /root/registry-password',
      'hosts registries remove docker.io --all-hosts',
    ].map((line) => line.replace(/^hosts /, '')),
  },
)

async function set(context: Context, given: Input): Promise<RegistryEntry> {
  const { mirror, username } = given
  const password = given.passwordFile === undefined ? await promptedPassword(context, given) : await passwordIn(context, given.passwordFile)
  const said = { ...(mirror ? { mirror } : {}), ...(username ? { username } : {}), ...(password ? { password } : {}) }
  return context.api.hosts.setRegistry({ body: { ...entryKey(given), ...said } })
}

async function remove({ api }: Context, given: Input) {
  const which = entryKey(given)
  await api.hosts.removeRegistry({ body: which })
  return { removed: which.registry, host: which.host }
}

/** Of one host, or explicitly of all: nobody sets a password for a fleet by leaving something away. */
function entryKey({ registry, host, allHosts }: Input): { registry: string; host: string | null } {
  if (!registry) throw problem('USAGE', 'which registry? Such as docker.io or registry.example:5000')
  if ((host === undefined) === !allHosts) throw problem('USAGE', 'for which hosts? Give either --host <name> or --all-hosts')
  return { registry, host: host ?? null }
}

/** A person who gives a user name and no file is asked for the password, unless one is kept already. */
async function promptedPassword({ api, ask }: Context, given: Input): Promise<string | undefined> {
  if (!given.username) return undefined
  const which = entryKey(given)
  const { registries: known } = await api.hosts.listRegistries()
  const kept = known.find(({ registry, host }) => registry === which.registry && host === which.host)
  if (kept?.username === given.username && kept.hasPassword) return undefined
  return ask.password(`Password of ${given.username}`, 'give --password-file <file>, or - for stdin')
}

async function passwordIn({ readStdin }: Context, file: string): Promise<string> {
  const [password = ''] = (file === '-' ? await readStdin() : await readTextFile(file)).split(/\r?\n/)
  if (password === '') throw problem('USAGE', `${file} has no password on its first line`)
  return password
}

const accountOf = ({ username, hasPassword }: RegistryEntry) => username && `${clean(username)}${hasPassword ? ', password kept' : ''}`

const columns = ({ now }: Style): Column<RegistryEntry>[] => [
  { title: 'REGISTRY', value: ({ registry }) => registry, priority: 1, minWidth: 12 },
  { title: 'HOST', value: ({ host }) => host ?? 'all', priority: 1 },
  { title: 'MIRROR', value: ({ mirror }) => mirror, priority: 2, minWidth: 12 },
  { title: 'ACCOUNT', value: accountOf, priority: 2, minWidth: 12 },
  { title: 'SET', value: ({ updatedAt }) => ago(updatedAt, now), priority: 4 },
  { title: 'BY', value: ({ updatedBy }) => updatedBy, priority: 5 },
]

const registryList = ({ registries }: { registries: readonly RegistryEntry[] }, style: Style): string =>
  registries.length === 0 ? 'Images are pulled from their own registries, without accounts.' : table(style, columns(style), registries)

function registryView(result: Exclude<RegistriesResult, { registries: unknown }>): string {
  if ('removed' in result) return `nothing is said of ${result.removed} for ${result.host ?? 'all hosts'} any more`
  const parts = [result.mirror && `by ${result.mirror} first`, accountOf(result) && `as ${accountOf(result)}`].filter(Boolean)
  return `${result.host ?? 'all hosts'}: ${result.registry} is pulled ${parts.join(', ')}`
}
