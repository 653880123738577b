import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { isProblem } from '../../core/kit/index.ts'
import {
  type BoardModel,
  type BoardState,
  boardModel,
  currentRollout,
  isBoardOver,
  isOver,
  pausedPhase,
  type RolloutReport,
  rolloutState,
  updatedText,
} from '../../core/rollouts/index.ts'
import { Empty, Icon, Link, Loading, PageHeader, ProblemView, queryClient, Status, useSeconds } from '../kit/index.ts'
import { Gates } from './gates.tsx'
import { reportQuery } from './queries.ts'
import { RolloutActions } from './rollout-actions.tsx'
import { Boxes, InFlight } from './rollout-boxes.tsx'
import { Attention } from './rollout-failures.tsx'
import { Phases } from './rollout-phases.tsx'
import { Facts, Steps, Story } from './rollout-story.tsx'
import { rolloutTone } from './tones.ts'
import { useBoard } from './use-board.ts'
import { words } from './words.ts'
import './rollouts.css'

const { page: text } = words

export function Page() {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const { state, error, reload } = useBoard(id)
  if (state) return <Board state={state} />
  return (
    <>
      <PageHeader title={text.title(id)} />
      {error === undefined ? (
        <Loading rows={6} />
      ) : isProblem(error, 'NOT_FOUND') ? (
        <Empty title={text.notFound} tone="off">
          <Link to="/rollouts">{words.list.title}</Link>
        </Empty>
      ) : (
        <ProblemView error={error} onRetry={reload} />
      )}
    </>
  )
}

function Board({ state }: Readonly<{ state: BoardState }>) {
  const { rollout } = state
  const seconds = useSeconds()
  const report = useQuery(reportQuery(rollout.id))
  // Events carry no manifest: the report, which is read again at each change, does.
  const stillAsked = report.data?.stillAsked ?? null
  const model = boardModel({ ...state, rollout: { ...rollout, stillAsked } }, seconds.getTime())
  const changes = `${rollout.status} ${rollout.bakeUntil} ${rollout.gates.map((gate) => gate.state)} ${rollout.finishedAt} ${model.failures.length} ${model.rollback?.ended}`
  // biome-ignore lint/correctness/useExhaustiveDependencies: the time line changes with the state
  useEffect(() => void queryClient.invalidateQueries({ queryKey: reportQuery(rollout.id).queryKey }), [changes])
  return (
    <>
      <PageHeader
        title={text.title(rollout.id)}
        answer={<Answer state={state} model={model} report={report.data} now={seconds} />}
        actions={<RolloutActions state={state} report={report.data} />}
      />
      {!state.connected && !isBoardOver(state) && (
        <p className="note" role="status">
          <Icon tone="warning" /> {text.notLive}
        </p>
      )}
      <Phases state={state} model={model} />
      {!isOver(rollout.status) && <Gates gates={rollout.gates} />}
      <Attention state={state} model={model} stillAsked={stillAsked} />
      <InFlight model={model} />
      <Boxes rollout={rollout} actions={state.actions} />
      <div className="columns">
        <Story report={report} />
        <Facts state={state} report={report.data} />
      </div>
      {report.data && report.data.steps.length > 0 && <Steps report={report.data} />}
    </>
  )
}

type AnswerProps = Readonly<{ state: BoardState; model: BoardModel; report: RolloutReport | undefined; now: Date }>

/** `▲ paused in pro · 17 min active, 4 min waiting · 14 of 24 boxes updated, 1 failed · manifest 3` */
function Answer({ state, model, report, now }: AnswerProps) {
  const rollout = currentRollout(state)
  const waitingMs = report ? pausedMs(report, now) : undefined
  return (
    <span className="answer">
      <Status
        tone={rolloutTone(rollout)}
      >{`${rolloutState({ ...rollout, counts: { ...rollout.counts, leftOut: 0 } })}${pausedPhase(rollout)}`}</Status>
      <span>{updatedText(model)}</span>
      {model.elapsedMs !== undefined && waitingMs !== undefined && (
        <span>{text.time(Math.max(0, model.elapsedMs - waitingMs), waitingMs)}</span>
      )}
      {model.etaMs !== undefined && <span>{text.left(model.etaMs)}</span>}
      <span>{text.manifest(model.manifestRevision)}</span>
    </span>
  )
}

/** Pauses until now: the report is older than the present second. */
const pausedMs = ({ pauses, rollout }: RolloutReport, now: Date): number =>
  pauses.reduce((sum, { at, until, durationMs }) => {
    const end = until ?? rollout.finishedAt
    return sum + (end ? durationMs : Math.max(durationMs, now.getTime() - Date.parse(at)))
  }, 0)
