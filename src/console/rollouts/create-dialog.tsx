import { useNavigate } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { problem } from '../../core/kit/index.ts'
import { fenceModeText, movedImages, phaseOrder, type RolloutPlan, snapshotModeText } from '../../core/rollouts/index.ts'
import { ActionDialog, api, Check, Choices, Field, quoted } from '../kit/index.ts'
import { createOpen } from './create-open.ts'
import { refreshRollouts } from './dialog-frame.tsx'
import { maxOf, movingIn, planOptions } from './plan-words.ts'
import type { PlanInput } from './queries.ts'
import { words } from './words.ts'

const { plan: text, act } = words

type Props = Readonly<{ plan: RolloutPlan; input: PlanInput; onClose(): void }>
type Phase = (typeof phaseOrder.staged)[number]

/** Asks what `tenantry rollouts create --start` asks. What was shown is compared with what was created before it is started. */
export function CreateDialog({ plan, input, onClose }: Props) {
  const navigate = useNavigate()
  const [start, setStart] = useState(true)
  const [skipRefused, setSkipRefused] = useState(false)
  const [queue, setQueue] = useState(false)
  const [threshold, setThreshold] = useState('1')
  const [holdAfter, setHoldAfter] = useState('')
  const hasActive = (plan.activeRollouts?.length ?? 0) > 0
  const moving = movingIn(plan)
  const first = plan.phases.find(({ phase }) => moving.some((box) => box.phase === phase))?.phase ?? ''
  const failureThreshold = Math.max(1, Math.floor(Number(threshold)) || 1)
  const options = {
    skipRefused,
    failureThreshold,
    ...(holdAfter ? { holdAfter: holdAfter as Phase } : {}),
  }
  // A start that failed is tried again with the rollout that was created for it, unless that is over.
  const made = useRef<Readonly<{ order: string; created: Created }>>(undefined)
  const createOnce = async (body: Parameters<typeof api.rollouts.createRollout>[0]['body']): Promise<Created> => {
    const order = JSON.stringify(body)
    const former = made.current?.order === order ? made.current.created.id : undefined
    const find = former === undefined ? undefined : () => api.rollouts.getRollout({ params: { id: former } })
    const created = await createOpen(() => api.rollouts.createRollout({ body }), find)
    made.current = { order, created }
    return created
  }
  const canStart = (plan.refusals === 0 || skipRefused) && (!hasActive || queue)
  const flags = [
    skipRefused && '--skip-refused',
    failureThreshold > 1 && `--failure-threshold ${failureThreshold}`,
    holdAfter && `--hold-after ${holdAfter}`,
    start && '--start',
    start && queue && '--queue',
  ].filter(Boolean)
  return (
    <ActionDialog
      title={text.createTitle(plan.updates)}
      confirm={start ? `${act.start} now` : 'Create'}
      reason="optional"
      isComplete={!start || canStart}
      consequence={
        <>
          <p>{act.startWhat(plan.updates, first, plan.parallel)}</p>
          <p>{act.startDowntime(maxOf(moving, 'expectedFenceMs'), maxOf(moving, 'worstFenceMs'), plan.expectedMs)}</p>
          {input.snapshotMode && <p>{snapshotModeText(input.snapshotMode)}</p>}
          {input.fenceMode && <p>{text.fenceOf(fenceModeText(input.fenceMode) ?? input.fenceMode)}</p>}
          {!start && <p>{text.createOnly}</p>}
        </>
      }
      cli={({ reason }) =>
        `tenantry rollouts create${planOptions(input)}${reason === '…' ? '' : ` --reason ${quoted(reason)}`}${flags.map((flag) => ` ${flag}`).join('')}`
      }
      run={async ({ reason }) => {
        const created = await createOnce({ ...input, ...options, ...(reason ? { reason } : {}) })
        if (start) await startAsSeen(plan, created, queue)
        await refreshRollouts(created.id)
        void navigate({ to: `/rollouts/${created.id}` })
      }}
      onClose={onClose}
    >
      <details className="options">
        <summary>{text.options}</summary>
        <div className="option-fields">
          <Field label={text.threshold} value={threshold} onChange={setThreshold} inputMode="numeric" />
        </div>
        <Choices
          label={text.holdAfter}
          value={holdAfter}
          onChange={setHoldAfter}
          choices={[{ value: '', label: text.never }, ...phaseOrder.staged.map((value) => ({ value, label: value }))]}
        />
      </details>
      {plan.refusals > 0 && (
        <Check isSelected={skipRefused} onChange={setSkipRefused}>
          {act.skipRefused(plan.refusals)}
        </Check>
      )}
      {hasActive && (
        <Check isSelected={queue} onChange={setQueue}>
          {act.queue}
        </Check>
      )}
      <Check isSelected={start} onChange={setStart}>
        {text.startNow}
      </Check>
    </ActionDialog>
  )
}

type Created = Awaited<ReturnType<typeof api.rollouts.createRollout>>

/** Throws CONFLICT where an image has changed since the plan was shown; the rollout stays queued. */
async function startAsSeen(seen: RolloutPlan, { id, plan }: Created, queue: boolean): Promise<void> {
  const moved = movedImages(seen, plan)
  if (moved.length > 0) throw problem('CONFLICT', `${moved.join('; ')}. ${text.queued(id)} fix: \`tenantry rollouts show ${id} --plan\``)
  await api.rollouts.startRollout({ params: { id }, body: { queue } })
}
