import { problem } from '../../core/kit/index.ts'
import { assertConfirmed, command, flag, text } from '../kit/index.ts'
import { followed, followedView, followOptions } from './followed.ts'
import { exitOfUndo } from './words.ts'

export const undo = command(
  'undo <id>',
  'Go on with a way back that stands still, or stop it; `rollback` begins one',
  {
    resume: flag('--resume', 'pass over boxes that came to rest, and try again those that could not be brought back'),
    stop: flag('--stop', 'bring no further box back; those on their way finish'),
    reason: text('--reason <text>', 'why it stops; it stands in the audit log'),
    ...followOptions,
  },
  async (context, { id, resume, stop, reason, ...how }) => {
    const { api, ask } = context
    if (resume === stop) throw problem('USAGE', 'give --resume or --stop')
    if (resume) return followed(context, await api.rollouts.resumeUndo({ params: { id } }), how)
    if (!reason) throw problem('USAGE', "--stop needs --reason '…': it stands in the audit log")
    await assertConfirmed(ask, `Bring no further box of ${id} back? Those that wait stay as they were updated.`)
    return followed(context, await api.rollouts.stopUndo({ params: { id }, body: { reason } }), how)
  },
  followedView,
  { exit: (rollout, { watch, wait }) => (watch || wait ? exitOfUndo(rollout) : 0) },
)
