import { type HostView, isHostPathWord } from '../../core/hosts/index.ts'
import { problem } from '../../core/kit/index.ts'
import { assertConfirmed, type Context, clean, command, fields, flag, required, sections, stamp, text } from '../kit/index.ts'
import { hostList, hostView } from './hosts.view.ts'

export const invite = command(
  'invite <name>',
  'Make a token with which one agent enrols under this name; it works once, for 15 minutes',
  {},
  ({ api }, { name }) => api.hosts.inviteHost({ body: { name } }),
  ({ token, name, expiresAt }, style) =>
    sections(
      fields(style, [
        ['host', name],
        ['token', style.paint.bold(token)],
        ['works until', stamp(expiresAt, style.now)],
      ]),
      'The token is shown only now. On the host, put it into a file that only root can read, then:\n' +
        `  tenantry-agent enrol --url ${style.url ?? '<this daemon>'} --token-file <file>\n  tenantry-agent run`,
    ),
  { examples: ['invite host-1', 'invite host-1 --json | jq -r .token'] },
)

export const list = command('list', 'All hosts with their state', {}, ({ api }) => api.hosts.listHosts(), hostList)

export const show = command(
  'show <name>',
  'One host: state, agent, engine, machine',
  {},
  (context, { name }) => shown(context, name),
  hostView,
)

/** One whose name is a word of paths, from before such were refused, is at its id: no path has its name. */
async function shown({ api }: Context, name: string): Promise<HostView> {
  if (!isHostPathWord(name)) return api.hosts.showHost({ params: { name } })
  const { hosts } = await api.hosts.listHosts()
  const found = hosts.find((host) => host.name === name)
  if (!found) throw problem('NOT_FOUND', `there is no host ${name}: \`tenantry hosts list\` shows all`)
  return found
}

export const revoke = command(
  'revoke <name>',
  'Shut the agent of a host out at once; its open commands expire',
  { reason: required(text('--reason <text>', 'why; it stands in the audit log')) },
  async ({ api, ask }, { name, reason }) => {
    await assertConfirmed(
      ask,
      `Shut out the agent of ${name}? Its boxes go on running, but nobody can update or restore them until it enrols anew.`,
    )
    return api.hosts.revokeHost({ params: { name }, body: { reason } })
  },
  hostView,
)

export const platform = command(
  'platform <name>',
  'Say where the daemon reaches the chat servers of a host that is not its own machine',
  {
    address: text('--address <url>', 'http://10.0.3.7:{port} on a listed private network, or https://{slug}.boxes.example'),
    loopback: flag('--loopback', "on the daemon's own machine, as of a host of which nothing was said"),
  },
  ({ api }, { name, address, loopback }) => {
    if ((address === undefined) !== loopback) throw problem('USAGE', 'give --address <url> or --loopback')
    return api.homeserver.setPlatformAddress({ params: { name }, body: { address: address ?? null } })
  },
  ({ host, address }) => `Boxes of ${clean(host)} are reached ${address === null ? 'on loopback' : `at ${clean(address)}`}.`,
  { examples: ['platform host-2 --address http://10.0.3.7:{port}'] },
)
