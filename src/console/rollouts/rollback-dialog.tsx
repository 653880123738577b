import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { versionMoves } from '../../core/boxes/index.ts'
import { allBoxes, findingsByKind, type PlannedRollback, type RollbackMode, type RollbackPlan } from '../../core/rollouts/index.ts'
import { ActionDialog, api, Loading, ProblemView, quoted, Status } from '../kit/index.ts'
import { Check, Choices } from './choice.tsx'
import { Changed, type RolloutDialogProps, refreshRollouts } from './dialog-frame.tsx'
import { Active } from './plan-view.tsx'
import { rollbackPlanQuery } from './queries.ts'
import { words } from './words.ts'

const { act } = words

type Mode = 'none' | RollbackMode

/** The consequence first: which boxes, to which versions, and what data they lose. A rollback to snapshots wants the id typed. */
export function RollbackDialog({ onClose, ...props }: RolloutDialogProps) {
  const { rollout, actions } = props.state
  const { id, status } = rollout
  const [mode, setMode] = useState<Mode>('none')
  const [skipRefused, setSkipRefused] = useState(false)
  const plan = useQuery({ ...rollbackPlanQuery(id, mode === 'none' ? 'images' : mode), enabled: mode !== 'none' })
  const refusals = mode === 'none' ? 0 : (plan.data?.refusals ?? 0)
  const isPlanned = mode === 'none' || (plan.data !== undefined && plan.data.undoes > 0 && (refusals === 0 || skipRefused))
  const updated = allBoxes(actions).filter((action) => action.status === 'succeeded').length
  const isFinished = status === 'done' || status === 'failed' || status === 'rolled_back'
  return (
    <ActionDialog
      title={act.rollbackTitle(id)}
      confirm={act.rollback}
      danger
      reason="required"
      {...(mode === 'snapshot' ? { typed: id } : {})}
      isComplete={isPlanned && !(isFinished && mode === 'none')}
      consequence={<Changed {...props} />}
      cli={({ reason }) =>
        `tenantry rollouts rollback ${id}${mode === 'none' ? '' : ` --boxes ${mode}`}${skipRefused && refusals > 0 ? ' --skip-refused' : ''} --reason ${reason === '…' ? "'…'" : quoted(reason)}`
      }
      run={async ({ reason }) => {
        await api.rollouts.rollbackRollout({ params: { id }, body: { reason, boxes: mode, skipRefused: skipRefused && refusals > 0 } })
        await refreshRollouts(id)
      }}
      onClose={onClose}
    >
      <Choices
        label={act.modes}
        value={mode}
        onChange={(value) => setMode(value as Mode)}
        choices={[
          { value: 'none', label: act.modeNone(updated), disabled: isFinished },
          { value: 'images', label: act.modeImages },
          { value: 'snapshot', label: act.modeSnapshot },
        ]}
      />
      {mode !== 'none' && plan.isPending && <Loading rows={2} label={act.planning} />}
      {mode !== 'none' && plan.isError && <ProblemView error={plan.error} onRetry={() => void plan.refetch()} />}
      {mode !== 'none' && plan.data && <Planned plan={plan.data} />}
      {refusals > 0 && (
        <Check isSelected={skipRefused} onChange={setSkipRefused}>
          {act.skipBlocked(refusals)}
        </Check>
      )}
    </ActionDialog>
  )
}

const maxLines = 8

function Planned({ plan }: Readonly<{ plan: RollbackPlan }>) {
  const { boxes, undoes, refusals, mode } = plan
  if (undoes + refusals === 0) return <p>{act.nothing}</p>
  const moving = boxes.filter(({ does }) => does === 'undo')
  const [since = ''] = moving.flatMap(({ losesSince }) => losesSince ?? []).sort()
  return (
    <div className="consequence">
      <p>{act.rollbackPlan(undoes, mode, refusals)}</p>
      {undoes > 0 && (
        <p className={mode === 'snapshot' ? 'tone-failed' : undefined}>
          {mode === 'snapshot' ? act.loss(minute(since), Math.max(0, ...moving.map(({ losesMs }) => losesMs))) : act.noLoss}
        </p>
      )}
      <ul className="lines">
        {[...boxes.filter(({ does }) => does === 'refuse'), ...moving].slice(0, maxLines).map((box) => (
          <PlannedLine key={box.tenantSlug} box={box} />
        ))}
        {boxes.length > maxLines && <li className="dim">{words.plan.moreOf(boxes.length - maxLines)}</li>}
      </ul>
      <Active plan={plan} />
      <Warnings plan={plan} />
      <p className="dim">{act.late}</p>
    </div>
  )
}

/** Each kind once: boxes of one rollout mostly have the same. */
const Warnings = ({ plan: { boxes } }: Readonly<{ plan: RollbackPlan }>) => (
  <ul className="lines">
    {findingsByKind(boxes, 'warn').map(({ code, lines }) => (
      <li key={code}>
        <Status tone="waiting">{code}</Status>
        <span className="grow">
          {lines[0]?.message} {lines.length > 1 && <span className="dim">{words.plan.moreOf(lines.length - 1)}</span>}
        </span>
      </li>
    ))}
  </ul>
)

const PlannedLine = ({ box: { tenantSlug, does, from, to, losesMs, findings } }: Readonly<{ box: PlannedRollback }>) => (
  <li>
    <Status tone={does === 'refuse' ? 'failed' : findings.length > 0 ? 'waiting' : 'ok'}>{tenantSlug}</Status>
    <span className="grow">
      {does === 'refuse' ? findings.map(({ message, code }) => `${message} [${code}]`).join('; ') : versionMoves(from, to)}
    </span>
    {losesMs > 0 && <span className="tone-failed">{act.loses(losesMs)}</span>}
  </li>
)

const minute = (iso: string): string => `${iso.slice(0, 16).replace('T', ' ')} UTC`
