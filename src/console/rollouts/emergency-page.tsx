import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { emergencyLackFix, emergencyLackText, preventsEmergency, type RolloutDetail, type RolloutPlan } from '../../core/rollouts/index.ts'
import { CliLine, Empty, PageHeader, Status, useRole } from '../kit/index.ts'
import { Confirm, Made } from './emergency-confirm.tsx'
import { OrderForm } from './emergency-form.tsx'
import { type Draft, emptyDraft, type Order } from './emergency-order.ts'
import { Preview } from './emergency-preview.tsx'
import { emergencyWords as text } from './emergency-words.ts'
import { listQuery } from './queries.ts'
import './rollouts.css'

type Step = Readonly<
  | { at: 'order' }
  | { at: 'plan'; order: Order }
  | { at: 'confirm'; order: Order; plan: RolloutPlan }
  | { at: 'made'; made: RolloutDetail; seen: RolloutPlan }
>

/** Asks what `tenantry rollouts emergency` asks, in its order. Only the last step sends anything, and only with the id typed and a token. */
export function Page() {
  const role = useRole()
  const known = useQuery(listQuery({}))
  const lacks = known.data?.emergencyLacks ?? []
  const missing = emergencyLackText(lacks)
  const isPrevented = preventsEmergency(lacks)
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
      {missing && (
        <p>
          <Status tone={isPrevented ? 'failed' : 'warning'}>
            <span className="wrap">{text.lacks(missing, emergencyLackFix(lacks))}</span>
          </Status>
        </p>
      )}
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
          why={isPrevented ? missing : undefined}
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
