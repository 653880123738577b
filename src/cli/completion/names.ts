import { isProblem, problem } from '../../core/kit/index.ts'
import { listAllBoxes } from '../boxes/index.ts'
import { type Command, type Context, command } from '../kit/index.ts'

export const kinds = ['boxes', 'tenants', 'rollouts', 'hosts'] as const
type Kind = (typeof kinds)[number]

/** Options whose value is a name. */
export const kindOfOption: Readonly<Record<Kind, readonly string[]>> = {
  boxes: ['--box', '--target', '--skip', '--fail', '--pull-fail'],
  tenants: ['--tenant'],
  rollouts: ['--rollout'],
  hosts: ['--host', '--to', '--offline', '--old-host-is-dead', '--new-host-is-dead'],
}

/** Nouns whose commands take these names; verbs that make a new name complete nothing. */
const kindOfNoun: Readonly<Record<string, Kind>> = {
  boxes: 'boxes',
  snapshots: 'boxes',
  tenants: 'tenants',
  users: 'tenants',
  rollouts: 'rollouts',
  hosts: 'hosts',
}
const newNames = ['boxes provision', 'boxes adopt', 'tenants create', 'hosts invite', 'hosts registries']

/** The kind of names that a command takes as arguments. */
export const kindOf = (noun: string, { name, usage }: Pick<Command, 'name' | 'usage'>): Kind | undefined =>
  /[<[](slug|slugs|id|name|tenant)(\.\.\.)?[>\]]/.test(usage) && !newNames.includes(`${noun} ${name}`) ? kindOfNoun[noun] : undefined

/** The shell expands the words that it completes, so a name with `$(…)` would run as a command. */
const plainName = /^[A-Za-z0-9][\w.-]*$/

/** Prints one name a line, for completion scripts. Without a daemon or a login it prints nothing. */
export const names = command('names <kind>', 'List names of boxes, tenants, rollouts or hosts', {
  run: async (context, { kind }): Promise<readonly string[]> => {
    const known = kinds.find((one) => one === kind)
    if (!known) throw problem('USAGE', `unknown kind ${kind}. fix: ${kinds.join(', ')}`)
    const found = await read[known](context).catch((error: unknown) => {
      if (isProblem(error)) return []
      throw error
    })
    return found.filter((name) => plainName.test(name))
  },
  view: (all) => all.join('\n'),
})

const read: Readonly<Record<Kind, (context: Context) => Promise<readonly string[]>>> = {
  boxes: async (context) => (await listAllBoxes(context)).map(({ slug }) => slug),
  tenants: async ({ api }) => (await api.tenants.listTenants({ query: { limit: 200 } })).tenants.map(({ slug }) => slug),
  rollouts: async ({ api }) => (await api.rollouts.listRollouts({ query: { limit: 50 } })).rollouts.map(({ id }) => id),
  hosts: async ({ api }) => (await api.hosts.listHosts()).hosts.map(({ name }) => name),
}
