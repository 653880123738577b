import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { duration, isProblem, type ProblemCode } from '../../core/kit/index.ts'
import { movedImages, type RolloutDetail, type RolloutPlan } from '../../core/rollouts/index.ts'
import {
  ActionDialog,
  api,
  Button,
  CliLine,
  Empty,
  type Fact,
  KeyValues,
  Link,
  Loading,
  PageHeader,
  ProblemView,
  quoted,
  Section,
  Status,
  useRole,
} from '../kit/index.ts'
import { Field } from './choice.tsx'
import { refreshRollouts } from './dialogs.tsx'
import { type Draft, emptyDraft, type Order, type OrderProblems, orderOf, targetNames } from './emergency-order.ts'
import { Blocked, Images } from './plan-view.tsx'
import { maxOf, movingIn, runningNow } from './plan-words.ts'
import { useFleetPlan, useFleetPlanOf } from './use-fleet-plan.ts'
import { words } from './words.ts'
import './rollouts.css'

const { emergency: text, act } = words

type Step = Readonly<
  | { at: 'order' }
  | { at: 'plan'; order: Order }
  | { at: 'confirm'; order: Order; plan: RolloutPlan }
  | { at: 'made'; made: RolloutDetail; seen: RolloutPlan }
>

/** Asks what `tenantry rollouts emergency` asks, in its order. Only the last step sends anything, and only with the id typed and a token. */
export function Page() {
  const role = useRole()
  const [draft, setDraft] = useState<Draft>(emptyDraft)
  const [step, setStep] = useState<Step>({ at: 'order' })
  if (role !== 'admin')
    return (
      <>
        <PageHeader title={text.title} />
        <Empty title={text.forbidden} tone="off">
          <p>{text.yourRole(role)}</p>
          <CliLine>tenantry whoami</CliLine>
        </Empty>
      </>
    )
  return (
    <>
      <PageHeader title={text.title} answer={text.intro} />
      <Progress at={step.at} />
      {step.at === 'order' && <OrderForm draft={draft} onChange={setDraft} onDone={(order) => setStep({ at: 'plan', order })} />}
      {step.at === 'plan' && (
        <Preview
          order={step.order}
          onBack={() => setStep({ at: 'order' })}
          onDone={(plan) => setStep({ at: 'confirm', order: step.order, plan })}
        />
      )}
      {step.at === 'confirm' && (
        <Confirm
          {...step}
          onBack={() => setStep({ at: 'plan', order: step.order })}
          onMade={(made) => setStep({ at: 'made', made, seen: step.plan })}
        />
      )}
      {step.at === 'made' && <Made {...step} />}
    </>
  )
}

const order = ['order', 'plan', 'confirm', 'made'] as const satisfies readonly Step['at'][]

const Progress = ({ at }: Readonly<{ at: Step['at'] }>) => (
  <ol className="steps">
    {text.steps.map((name, index) => (
      <li key={name} aria-current={order[index] === at ? 'step' : undefined}>
        {`${index + 1}  ${name}`}
      </li>
    ))}
  </ol>
)

type OrderFormProps = Readonly<{ draft: Draft; onChange(draft: Draft): void; onDone(order: Order): void }>

function OrderForm({ draft, onChange, onDone }: OrderFormProps) {
  const fleet = useFleetPlan()
  const [shown, setShown] = useState<OrderProblems>({})
  const set = (name: keyof Draft) => (value: string) => {
    onChange({ ...draft, [name]: value })
    setShown({ ...shown, [name]: undefined, targets: undefined })
  }
  const submit = () => {
    const { order: complete, problems } = orderOf(draft)
    setShown(problems)
    if (complete) onDone(complete)
  }
  return (
    <Section title={text.steps[0]}>
      <Form
        className="emergency"
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <Field label={text.cve} hint={text.cveHint} error={shown.cve} value={draft.cve} onChange={set('cve')} autoFocus />
        <Field label={text.reason} error={shown.reason} value={draft.reason} onChange={set('reason')} />
        <h3>{text.targets}</h3>
        {targetNames.map((name) => (
          <Field
            key={name}
            label={text.targetNames[name]}
            hint={fleet ? runningNow(fleet.boxes, componentOf[name]) : undefined}
            error={shown[name] ?? (name === 'toChatServer' ? shown.targets : undefined)}
            value={draft[name]}
            onChange={set(name)}
          />
        ))}
        <Field
          label={text.decidedBy}
          hint={text.decidedHint}
          error={shown.triggeredBy}
          value={draft.triggeredBy}
          onChange={set('triggeredBy')}
        />
        <Button type="submit" look="primary">
          {text.preview}
        </Button>
      </Form>
    </Section>
  )
}

const componentOf = { toChatServer: 'synapse', toDatabase: 'postgres', toObjectStore: 'minio', toMigrationsHead: 'migrationsHead' } as const

const targetsText = ({ targets }: Order): string =>
  targetNames.flatMap((name) => (targets[name] ? [`${text.targetNames[name]} ${targets[name]}`] : [])).join(', ')

const factsOf = (input: Order, plan: RolloutPlan): readonly Fact[] => [
  [text.facts.emergency, <b>{input.cveId}</b>],
  [text.facts.reason, input.reason],
  [text.facts.by, input.triggeredBy],
  [text.facts.targets, targetsText(input)],
  [text.facts.manifest, text.manifest(plan.manifestRevision)],
  [text.pauses, plan.pauses && plan.pauses.length > 0 ? plan.pauses.join(', ') : text.noPauses],
  [text.stopsName, plan.stopsUndosOf && plan.stopsUndosOf.length > 0 ? text.stops(plan.stopsUndosOf.join(', ')) : null],
]

type PreviewProps = Readonly<{ order: Order; onBack(): void; onDone(plan: RolloutPlan): void }>

function Preview({ order: input, onBack, onDone }: PreviewProps) {
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
          <span className="wrap">
            {plan.updates === 0 ? text.nothing : text.totals(plan.updates, plan.parallel, plan.expectedMs, maxOf(moving, 'worstFenceMs'))}
          </span>
        </Status>
      </p>
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

/** More would lock the account. */
const maxTries = 3

type ConfirmProps = Readonly<{ order: Order; plan: RolloutPlan; onBack(): void; onMade(made: RolloutDetail): void }>

function Confirm({ order: input, plan, onBack, onMade }: ConfirmProps) {
  const [typed, setTyped] = useState('')
  const [token, setToken] = useState('')
  const [tries, setTries] = useState(0)
  const { cveId, reason, triggeredBy, targets } = input
  const create = useMutation({
    mutationFn: () => api.rollouts.createEmergency({ body: { reason, triggeredBy, ...targets, approvalToken: token } as never }),
    onSuccess: onMade,
    onError: (error) => {
      if (isProblem(error, tokenRefused)) setTries(tries + 1)
      setToken('')
    },
  })
  const isReady = typed.trim().toUpperCase() === cveId && token !== '' && tries < maxTries && !create.isPending
  return (
    <Section title={text.steps[2]}>
      <KeyValues facts={factsOf(input, plan)} />
      <p>{text.totals(plan.updates, plan.parallel, plan.expectedMs, maxOf(movingIn(plan), 'worstFenceMs'))}</p>
      {/* No form: the key Enter must not send it. */}
      <div className="emergency">
        <Field label={text.confirm(cveId)} value={typed} onChange={setTyped} autoFocus />
        <Field
          label={text.token}
          hint={text.tokenHint}
          error={tries > 0 && token === '' ? text.wrongToken(maxTries - tries) : undefined}
          value={token}
          onChange={setToken}
          type="password"
          autoComplete="off"
        />
        {create.isError && !isProblem(create.error, tokenRefused) && <ProblemView error={create.error} />}
        <CliLine>{`tenantry rollouts emergency --cve ${cveId} --reason ${quoted(reason)}${targetFlags(input)} --triggered-by ${quoted(triggeredBy)}`}</CliLine>
        <p className="buttons">
          <Button onPress={onBack} isDisabled={create.isPending}>
            {text.back}
          </Button>
          <Button look="danger" isDisabled={!isReady} onPress={() => create.mutate()}>
            {create.isPending ? `${text.send}…` : text.send}
          </Button>
        </p>
      </div>
    </Section>
  )
}

/** The daemon's answer to a wrong approval token. */
const tokenRefused: ProblemCode = 'AUTH'

const flags = {
  toChatServer: '--to-chat-server',
  toDatabase: '--to-database',
  toObjectStore: '--to-object-store',
  toMigrationsHead: '--to-migrations-head',
} as const

const targetFlags = ({ targets }: Order): string =>
  targetNames.flatMap((name) => (targets[name] ? [` ${flags[name]} ${targets[name]}`] : [])).join('')

function Made({ made, seen }: Readonly<{ made: RolloutDetail; seen: RolloutPlan }>) {
  const navigate = useNavigate()
  const [starting, setStarting] = useState(false)
  const isChanged = movedImages(seen, made.plan).length > 0 || made.manifestRevision !== seen.manifestRevision
  const { refusals } = made.plan
  return (
    <Section title={text.steps[3]}>
      <p>
        <Status tone="waiting">{made.id}</Status> {text.sent}
      </p>
      {isChanged && (
        <p>
          <Status tone="failed">{text.changed}</Status>
        </p>
      )}
      <p className="buttons">
        <Link to={`/rollouts/${made.id}`} className="button">
          {text.see}
        </Link>
        <Button look="primary" onPress={() => setStarting(true)}>
          {`${refusals > 0 ? text.startWithout(refusals) : text.start}…`}
        </Button>
      </p>
      {starting && (
        <ActionDialog
          title={act.startTitle(made.id)}
          confirm={act.start}
          danger
          consequence={
            <p>
              {text.totals(made.plan.updates, made.plan.parallel, made.plan.expectedMs, maxOf(movingIn(made.plan), 'worstFenceMs'))}
              {made.plan.pauses && made.plan.pauses.length > 0 ? ` ${act.pauses(made.plan.pauses)}` : ''}
            </p>
          }
          cli={() => `tenantry rollouts start ${made.id}${refusals > 0 ? ' --skip-refused' : ''} --watch`}
          run={async () => {
            await api.rollouts.startRollout({ params: { id: made.id }, body: { skipRefused: refusals > 0 } })
            await refreshRollouts(made.id)
            void navigate({ to: `/rollouts/${made.id}` })
          }}
          onClose={() => setStarting(false)}
        />
      )}
    </Section>
  )
}
