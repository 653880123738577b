import { type HostView, isHostPathWord } from '../../core/hosts/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type Context, command } from '../kit/index.ts'
import { hostView } from './hosts.view.ts'

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
