import { duration } from '../../core/kit/index.ts'
import { leftOutBoxes, type RolloutPlan } from '../../core/rollouts/index.ts'
import { Button, type Fact, KeyValues, Loading, ProblemView, Section, Status } from '../kit/index.ts'
import { type Order, targetNames } from './emergency-order.ts'
import { emergencyWords as text } from './emergency-words.ts'
import { Blocked, Images } from './plan-view.tsx'
import { maxOf, movingIn } from './plan-words.ts'
import { useFleetPlanOf } from './use-fleet-plan.ts'

const targetsText = ({ targets }: Order): string =>
  targetNames.flatMap((name) => (targets[name] ? [`${text.targetNames[name]} ${targets[name]}`] : [])).join(', ')

export const factsOf = (input: Order, plan: RolloutPlan): readonly Fact[] => [
  [text.facts.emergency, <b>{input.cveId}</b>],
  [text.facts.reason, input.reason],
  [text.facts.by, input.triggeredBy],
  [text.facts.targets, targetsText(input)],
  [text.facts.manifest, text.manifest(plan.manifestRevision)],
  [text.pauses, plan.pauses && plan.pauses.length > 0 ? plan.pauses.join(', ') : text.noPauses],
  [text.stopsName, plan.stopsRollbacksOf && plan.stopsRollbacksOf.length > 0 ? text.stops(plan.stopsRollbacksOf.join(', ')) : null],
]

type PreviewProps = Readonly<{ order: Order; onBack(): void; onDone(plan: RolloutPlan): void }>

/** The second step: the plan of the emergency. It changes nothing. */
export function Preview({ order: input, onBack, onDone }: PreviewProps) {
  const query = useFleetPlanOf(input)
  return (
    <Section title={text.steps[1]}>
      {query.isPending && <Loading rows={6} label={text.planning} />}
      {query.isError && <ProblemView error={query.error} onRetry={() => void query.refetch()} />}
      {query.data && <Radius input={input} plan={query.data} />}
      <p className="buttons">
        <Button onPress={onBack}>{text.back}</Button>
        {query.data && (
          <Button look="primary" onPress={() => onDone(query.data as RolloutPlan)}>
            {text.next}
          </Button>
        )}
      </p>
    </Section>
  )
}

/** The boxes affected, their downtime, and the rollouts that it pauses. */
function Radius({ input, plan }: Readonly<{ input: Order; plan: RolloutPlan }>) {
  const moving = movingIn(plan)
  const leftOut = leftOutBoxes(plan.boxes)
  return (
    <>
      <KeyValues facts={factsOf(input, plan)} />
      <Blocked plan={plan} />
      <table className="plain">
        <thead>
          <tr>
            <th>{text.columns.phase}</th>
            <th className="right">{text.columns.update}</th>
            <th className="right">{text.columns.upToDate}</th>
            <th className="right">{text.columns.blocked}</th>
            <th className="right">{text.columns.duration}</th>
            <th className="right">{text.columns.downtime}</th>
          </tr>
        </thead>
        <tbody>
          {plan.phases.map(({ phase, expectedMs }) => (
            <PhaseRow key={phase} phase={phase} expectedMs={expectedMs} plan={plan} />
          ))}
        </tbody>
      </table>
      <p>
        <Status tone="waiting">
          <span className="wrap">{plan.updates === 0 ? text.nothing : text.totals(plan, maxOf(moving, 'worstFenceMs'))}</span>
        </Status>
      </p>
      {leftOut.length > 0 && (
        <p>
          <Status tone="failed">
            <span className="wrap">{text.leftOut(leftOut)}</span>
          </Status>
        </p>
      )}
      <Images plan={plan} />
    </>
  )
}

function PhaseRow({ phase, expectedMs, plan }: Readonly<{ phase: string; expectedMs: number; plan: RolloutPlan }>) {
  const boxes = plan.boxes.filter((box) => box.phase === phase)
  const count = (does: (typeof boxes)[number]['does']) => boxes.filter((box) => box.does === does).length
  const moving = boxes.filter(({ does }) => does === 'update')
  return (
    <tr>
      <td>{phase}</td>
      <td className="right">{count('update')}</td>
      <td className="right">{count('skip')}</td>
      <td className={`right${count('refuse') > 0 ? ' tone-failed' : ''}`}>{count('refuse')}</td>
      <td className="right">{moving.length === 0 ? '–' : duration(expectedMs)}</td>
      <td className="right">{moving.length === 0 ? '–' : duration(maxOf(moving, 'expectedFenceMs'))}</td>
    </tr>
  )
}
