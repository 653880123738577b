import { assertConfirmed, command, required, text } from '../kit/index.ts'
import { hostView } from './hosts.view.ts'

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
