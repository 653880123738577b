import type { Clock } from '../../../src/core/kit/index.ts'
import { isPaymentFailure, type PaymentFailure, paymentFailure } from '../../../src/core/payments/index.ts'

/**
 * What becomes of the next call of an operation. `lost`: the request never arrives. `answer lost`: carried out, no answer. `late`: no answer,
 * carried out when `deliverLate` is called. `twice`: arrives twice. `failed`: 500 before anything happened. `failed after`: 500 although it
 * was carried out. `refused`: a 400. Errors are saved for the key.
 */
export type Fault = 'lost' | 'answer lost' | 'late' | 'twice' | 'failed' | 'failed after' | 'refused'

type Saved = Readonly<{ atMs: number; request: string; outcome: Readonly<{ value: unknown }> | Readonly<{ failure: PaymentFailure }> }>
type Call = Readonly<{ operation: string; key?: string | undefined; input: unknown }>

const keyLifeMs = 24 * 60 * 60_000
const clone = <Value>(value: Value): Value => (value === undefined ? value : structuredClone(value))

/** Idempotency keys and faults of a provider. */
export function idempotentCalls(clock: Clock, settle: () => void) {
  const saved = new Map<string, Saved>()
  const faults: { operation: string; fault: Fault }[] = []
  const late: (() => void)[] = []
  const calls: Call[] = []
  const nowMs = () => clock.now().getTime()
  const unreachable = () => paymentFailure('unreachable', 'The payment provider did not answer')
  const refused = () => paymentFailure('invalid', 'The address of the customer is incomplete')
  const broken = () => paymentFailure('failed', 'The payment provider answered with an internal error')

  function takeFault(operation: string): Fault | undefined {
    const at = faults.findIndex((one) => one.operation === operation)
    return at < 0 ? undefined : faults.splice(at, 1)[0]?.fault
  }

  function outcomeOf(work: () => unknown): Saved['outcome'] {
    try {
      return { value: clone(work()) }
    } catch (error) {
      if (isPaymentFailure(error)) return { failure: error }
      throw error
    }
  }

  /** The saved outcome of the key, or that of the work. */
  function executed({ key, input }: Call, work: () => unknown, fault?: Fault): Saved['outcome'] {
    settle()
    for (const [known, { atMs }] of saved) if (atMs + keyLifeMs <= nowMs()) saved.delete(known)
    const request = JSON.stringify(input)
    const known = key === undefined ? undefined : saved.get(key)
    if (known && known.request !== request) return { failure: paymentFailure('invalid', `The key ${key} was used with other parameters`) }
    if (known) return known.outcome
    const done = fault === 'failed' ? { failure: broken() } : fault === 'refused' ? { failure: refused() } : outcomeOf(work)
    const outcome = fault === 'failed after' ? { failure: broken() } : done
    if (key !== undefined) saved.set(key, { atMs: nowMs(), request, outcome })
    return outcome
  }

  async function call<Value>(one: Call, work: () => Value): Promise<Value> {
    await Promise.resolve()
    calls.push(one)
    const fault = takeFault(one.operation)
    if (fault === 'lost') throw unreachable()
    if (fault === 'late') {
      late.push(() => void executed(one, work))
      throw unreachable()
    }
    if (fault === 'twice') executed(one, work)
    const outcome = executed(one, work, fault)
    if (fault === 'answer lost') throw unreachable()
    if ('failure' in outcome) throw outcome.failure
    return clone(outcome.value) as Value
  }

  return {
    call,
    calls,
    fault: (operation: string, fault: Fault, count = 1) => {
      for (let index = 0; index < count; index++) faults.push({ operation, fault })
    },
    deliverLate: () => {
      for (const deliver of late.splice(0)) deliver()
    },
  }
}
