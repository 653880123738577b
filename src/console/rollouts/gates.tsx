import { answerText, type Gate, type GateState, gateTint, limitsText, onNoAnswerText } from '../../core/rollouts/index.ts'
import { Ago, Breakable, Section, Status } from '../kit/index.ts'
import { toneOfTint } from './tones.ts'
import { words } from './words.ts'

const { gates: text } = words

/** The gates of a plan or a rehearsal. */
export function PlannedGates({ gates = [], note = text.planNote }: Readonly<{ gates?: readonly Gate[] | undefined; note?: string }>) {
  if (gates.length === 0) return null
  return (
    <Section title={text.title} aside={note}>
      <ul className="lines">
        {gates.map((gate) => (
          <li key={gate.name}>
            <b>{gate.name}</b>
            <span>{limitsText(gate)}</span>
            <code className="grow">
              <Breakable>{gate.query}</Breakable>
            </code>
            <span className="dim">{onNoAnswerText(gate)}</span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

/** The gates of a rollout: state, last value and when it was asked. */
export function Gates({ gates }: Readonly<{ gates: readonly GateState[] }>) {
  if (gates.length === 0) return null
  return (
    <Section title={text.title} aside={text.planNote}>
      <ul className="lines">
        {gates.map((gate) => (
          <li key={gate.name}>
            <Status tone={toneOfTint[gateTint(gate)]}>{gate.name}</Status>
            <span>{text.states[gate.state]}</span>
            <span>{answerText(gate)}</span>
            {gate.at && <Ago at={gate.at} />}
            <span className="dim">{limitsText(gate)}</span>
            <code className="grow">
              <Breakable>{gate.query}</Breakable>
            </code>
          </li>
        ))}
      </ul>
    </Section>
  )
}
