import type { RegistryEntry } from '../../core/hosts/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type Context, command, flag, readTextFile, text } from '../kit/index.ts'
import { registryList, registryView } from './registries.view.ts'

type Given = Readonly<{
  registry?: string
  host: string | undefined
  allHosts: boolean
  mirror: string | undefined
  username: string | undefined
  passwordFile: string | undefined
}>

export type RegistriesResult =
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

async function set(context: Context, given: Given): Promise<RegistryEntry> {
  const { mirror, username } = given
  const password = given.passwordFile === undefined ? await askedFor(context, given) : await passwordIn(context, given.passwordFile)
  const said = { ...(mirror ? { mirror } : {}), ...(username ? { username } : {}), ...(password ? { password } : {}) }
  return context.api.hosts.setRegistry({ body: { ...whichOf(given), ...said } })
}

async function remove({ api }: Context, given: Given) {
  const which = whichOf(given)
  await api.hosts.removeRegistry({ body: which })
  return { removed: which.registry, host: which.host }
}

/** Of one host, or explicitly of all: nobody sets a password for a fleet by leaving something away. */
function whichOf({ registry, host, allHosts }: Given): { registry: string; host: string | null } {
  if (!registry) throw problem('USAGE', 'which registry? Such as docker.io or registry.example:5000')
  if ((host === undefined) === !allHosts) throw problem('USAGE', 'for which hosts? Give either --host <name> or --all-hosts')
  return { registry, host: host ?? null }
}

/** A person who gives a user name and no file is asked for the password, unless one is kept already. */
async function askedFor({ api, ask }: Context, given: Given): Promise<string | undefined> {
  if (!given.username) return undefined
  const which = whichOf(given)
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
