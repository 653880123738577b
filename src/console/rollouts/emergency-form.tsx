import { useState } from 'react'
import { Form } from 'react-aria-components'
import { Button, Field, Section } from '../kit/index.ts'
import { type Draft, type Order, type OrderProblems, orderOf, targetNames } from './emergency-order.ts'
import { emergencyWords as text } from './emergency-words.ts'
import { runningNow } from './plan-words.ts'
import { useFleetPlan } from './use-fleet-plan.ts'

const componentOf = { toChatServer: 'synapse', toDatabase: 'postgres', toObjectStore: 'minio', toMigrationsHead: 'migrationsHead' } as const

type OrderFormProps = Readonly<{ draft: Draft; onChange(draft: Draft): void; onDone(order: Order): void }>

/** The first step: what is exploited, the new versions, and who decided it. */
export function OrderForm({ draft, onChange, onDone }: OrderFormProps) {
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
