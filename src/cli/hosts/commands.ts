import { type HostView, isHostPathWord } from '../../core/hosts/index.ts'
import { problem } from '../../core/kit/index.ts'
import { assertConfirmedOf, type Context, clean, command, fields, flag, required, sections, stamp, text } from '../kit/index.ts'
import { hostList, hostView } from './hosts.view.ts'

export const invite = command('invite <name>', 'Create a one-time enrolment token for a host, valid 15 minutes', {
  run: ({ api }, { name }) => api.hosts.inviteHost({ body: { name } }),
  view: ({ token, name, expiresAt }, style) =>
    sections(
      fields(style, [
        ['host', name],
        ['token', style.paint.bold(token)],
        ['expires', stamp(expiresAt, style.now)],
      ]),
      'Save the token now, it is not shown again. On the host, put it into a file that only root can read, then:\n' +
        `  tenantry-agent enrol --url ${style.url ?? '<this daemon>'} --token-file <file>\n  tenantry-agent run`,
    ),
  examples: ['invite host-1', 'invite host-1 --json | jq -r .token'],
})

export const list = command('list', 'List hosts with their status', {
  run: ({ api }) => api.hosts.listHosts(),
  view: hostList,
})

export const show = command('show <name>', 'Show a host: status, agent, engine, resources', {
  run: (context, { name }) => shownHost(context, name),
  view: hostView,
})

/** A name that is a word of the API's paths is read from the list; new hosts cannot have one. */
export async function shownHost({ api }: Pick<Context, 'api'>, name: string): Promise<HostView> {
  if (!isHostPathWord(name)) return api.hosts.showHost({ params: { name } })
  const { hosts } = await api.hosts.listHosts()
  const found = hosts.find((host) => host.name === name)
  if (!found) throw problem('NOT_FOUND', `host ${name} does not exist; \`tenantry hosts list\` shows all hosts`)
  return found
}

export const revoke = command('revoke <name>', 'Revoke the agent of a host; its open commands expire', {
  options: { reason: required(text('--reason <text>', 'reason for the audit log')) },
  run: async (context, { name, reason }) => {
    const question = `Revoke the agent of ${name}? Its boxes keep running, but cannot be updated or restored until it enrols again.`
    await assertConfirmedOf(context, question, () => shownHost(context, name))
    return context.api.hosts.revokeHost({ params: { name }, body: { reason } })
  },
  view: hostView,
})

export const platform = command('platform <name>', "Set the address of a remote host's chat servers", {
  options: {
    address: text('--address <url>', 'http://10.0.3.7:{port} (listed private network) or https://{slug}.boxes.example'),
    loopback: flag('--loopback', "the boxes run on the daemon's machine (default)"),
  },
  run: ({ api }, { name, address, loopback }) => {
    if ((address === undefined) !== loopback) throw problem('USAGE', 'pass either --address <url> or --loopback')
    return api.homeserver.setPlatformAddress({ params: { name }, body: { address: address ?? null } })
  },
  view: ({ host, address }) => `Platform address of ${clean(host)}: ${address === null ? 'loopback' : clean(address)}`,
  examples: ['platform host-2 --address http://10.0.3.7:{port}'],
})
