import { command } from '../kit/index.ts'
import { hostView } from './hosts.view.ts'

export const show = command(
  'show <name>',
  'One host: state, agent, engine, machine',
  {},
  ({ api }, { name }) => api.hosts.showHost({ params: { name } }),
  hostView,
)
