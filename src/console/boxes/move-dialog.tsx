import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type BoxDetail, lifecycleQuestions, movePlanTexts } from '../../core/boxes/index.ts'
import { ActionDialog, api, Check, exactTime, Loading, ProblemView, queryClient } from '../kit/index.ts'
import { type MoveTarget, moveCommand, removeCommand } from './commands.ts'
import { HostChoice } from './host-choice.tsx'
import { movePlanQuery } from './queries.ts'
import { words } from './words.ts'

type Props = Readonly<{ box: BoxDetail; onClose(): void }>

/** Asks what `tenantry boxes move --to` asks: a host, then the plan of the daemon. A dead old host is typed. */
export function MoveDialog({ box, onClose }: Props) {
  const { slug, host, hostStatus, move } = box
  const [to, setTo] = useState<string>()
  const [isDead, setDead] = useState(false)
  const [isStopped, setStopped] = useState(false)
  const target: MoveTarget = {
    to: to ?? '',
    ...(isDead ? { oldHostIsDead: host } : {}),
    ...(isStopped ? { stoppedOnNewHost: true } : {}),
  }
  const plan = useQuery({ ...movePlanQuery(slug, target), enabled: to !== undefined })
  return (
    <ActionDialog
      title={to === undefined ? words.moveTitle(slug) : lifecycleQuestions.move(slug, { from: host, to })}
      confirm={words.moveConfirm}
      danger
      reason="required"
      {...(isDead ? { typed: host } : {})}
      isComplete={plan.data !== undefined}
      consequence={<p>{words.moveEffect}</p>}
      cli={({ reason }) => moveCommand(slug, target, reason)}
      run={async ({ reason }) => {
        await api.boxes.moveBox({ params: { slug }, body: { ...target, reason } })
        await queryClient.invalidateQueries({ queryKey: ['boxes'] })
      }}
      onClose={onClose}
    >
      <HostChoice label={words.moveTo} except={host} value={to} onChange={setTo} />
      {hostStatus !== 'online' && (
        <Check isSelected={isDead} onChange={setDead}>
          {words.hostIsDead(host)}
        </Check>
      )}
      {move?.mayRunOnNewHost && (
        <Check isSelected={isStopped} onChange={setStopped}>
          {words.stoppedOnNewHost(slug, move.to)}
        </Check>
      )}
      {to !== undefined && plan.isPending && <Loading rows={2} label={words.planning} />}
      {plan.isError && <ProblemView error={plan.error} onRetry={() => void plan.refetch()} />}
      {plan.data && (
        <div className="consequence">
          {movePlanTexts(slug, plan.data, plan.data.snapshot ? exactTime(plan.data.snapshot.takenAt) : undefined).map((text) => (
            <p key={text} className={plan.data.snapshot ? 'tone-failed' : undefined}>
              {text}
            </p>
          ))}
        </div>
      )}
    </ActionDialog>
  )
}

/** Asks what `tenantry boxes remove` asks. */
export function RemoveDialog({ box: { slug, host, hostStatus }, onClose }: Props) {
  const [isNow, setNow] = useState(false)
  const [isDead, setDead] = useState(false)
  return (
    <ActionDialog
      title={words.removeTitle(slug)}
      confirm={isNow ? words.removeAndErase : words.remove}
      danger
      reason="required"
      typed={isDead ? host : slug}
      consequence={
        isDead ? (
          <p className="tone-failed">{words.endRecordEffect(host)}</p>
        ) : (
          <>
            <p>{words.removeEffect}</p>
            <p className={isNow ? 'tone-failed' : undefined}>{isNow ? words.eraseEffect : words.keepEffect}</p>
          </>
        )
      }
      cli={({ reason }) => removeCommand(slug, { isNow, deadHost: isDead ? host : undefined }, reason)}
      run={async ({ reason }) => {
        await api.boxes.removeBox({
          params: { slug },
          body: { confirm: slug, reason, now: isNow, ...(isDead ? { hostIsDead: host } : {}) },
        })
        await queryClient.invalidateQueries({ queryKey: ['boxes'] })
      }}
      onClose={onClose}
    >
      {!isDead && (
        <Check isSelected={isNow} onChange={setNow}>
          {words.eraseNow}
        </Check>
      )}
      {hostStatus !== 'online' && (
        <Check isSelected={isDead} onChange={setDead}>
          {words.hostIsGone(host)}
        </Check>
      )}
    </ActionDialog>
  )
}
