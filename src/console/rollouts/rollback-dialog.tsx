import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { versionMoves } from '../../core/boxes/index.ts'
import { allBoxes, findingsByKind, type PlannedRollback, type RollbackMode, type RollbackPlan } from '../../core/rollouts/index.ts'
import { ActionDialog, api, Check, Choices, Loading, ProblemView, quoted, Status } from '../kit/index.ts'
import { Changed, type RolloutDialogProps, refreshRollouts } from './dialog-frame.tsx'
import { Active } from './plan-view.tsx'
import { rollbackPlanQuery } from './queries.ts'
import { words } from './words.ts'

const { act } = words

type Mode = 'none' | RollbackMode

/**
 * The consequence first: which boxes, to which versions, and what data they lose. No mode is preselected, and a rollback to snapshots wants
 * the id typed.
 */
export function RollbackDialog({ onClose, ...props }: RolloutDialogProps) {
  const { rollout, actions } = props.state
  const { id, status } = rollout
  const [mode, setMode] = useState<Mode>()
  const [skipRefused, setSkipRefused] = useState(false)
  const ofBoxes = mode === 'none' ? undefined : mode
  const plan = useQuery({ ...rollbackPlanQuery(id, ofBoxes ?? 'images'), enabled: ofBoxes !== undefined })
  const refusals = ofBoxes ? (plan.data?.refusals ?? 0) : 0
  const isPlanned =
    mode === 'none' ||
    (ofBoxes !== undefined && plan.data !== undefined && plan.data.boxes.length > plan.data.refusals && (refusals === 0 || skipRefused))
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
        `tenantry rollouts rollback ${id} --boxes ${mode ?? '…'}${skipRefused && refusals > 0 ? ' --skip-refused' : ''} --reason ${reason === '…' ? "'…'" : quoted(reason)}`
      }
      run={async ({ reason }) => {
        if (mode === undefined) return
        await api.rollouts.rollbackRollout({ params: { id }, body: { reason, boxes: mode, skipRefused: skipRefused && refusals > 0 } })
        await refreshRollouts(id)
      }}
      onClose={onClose}
    >
      <Choices
        label={act.modes}
        value={mode ?? null}
        onChange={(value) => setMode(value as Mode)}
        choices={[
          { value: 'images', label: act.modeImages },
          { value: 'snapshot', label: act.modeSnapshot },
          { value: 'none', label: act.modeNone(updated), disabled: isFinished },
        ]}
      />
      {mode === undefined && <p className="dim">{act.chooseMode}</p>}
      {ofBoxes && plan.isPending && <Loading rows={2} label={act.planning} />}
      {ofBoxes && plan.isError && <ProblemView error={plan.error} onRetry={() => void plan.refetch()} />}
      {ofBoxes && plan.data && <Planned plan={plan.data} />}
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
  const { boxes, rollbacks, refusals, mode } = plan
  const back = boxes.filter(({ does }) => does === 'skip').map(({ tenantSlug }) => tenantSlug)
  if (rollbacks + refusals === 0) return <p>{back.length > 0 ? act.alreadyBack(back) : act.nothing}</p>
  const moving = boxes.filter(({ does }) => does === 'rollback')
  const [since = ''] = moving.flatMap(({ losesSince }) => losesSince ?? []).sort()
  return (
    <div className="consequence">
      <p>{act.rollbackPlan(rollbacks, mode, refusals)}</p>
      {rollbacks > 0 && (
        <p className={mode === 'snapshot' ? 'tone-failed' : undefined}>
          {mode === 'snapshot' ? act.loss(minute(since), Math.max(0, ...moving.map(({ losesMs }) => losesMs))) : act.noLoss}
        </p>
      )}
      <ul className="lines">
        {[...boxes.filter(({ does }) => does === 'refuse'), ...moving].slice(0, maxLines).map((box) => (
          <PlannedLine key={box.tenantSlug} box={box} />
        ))}
        {rollbacks + refusals > maxLines && <li className="dim">{words.plan.moreOf(rollbacks + refusals - maxLines)}</li>}
      </ul>
      {back.length > 0 && <p>{act.alreadyBack(back)}</p>}
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
    <Status tone={does === 'refuse' ? 'failed' : findings.length > 0 ? 'warning' : 'ok'}>{tenantSlug}</Status>
    <span className="grow">
      {does === 'refuse' ? findings.map(({ message, code }) => `${message} [${code}]`).join('; ') : versionMoves(from, to)}
    </span>
    {losesMs > 0 && <span className="tone-failed">{act.loses(losesMs)}</span>}
  </li>
)

const minute = (iso: string): string => `${iso.slice(0, 16).replace('T', ' ')} UTC`
