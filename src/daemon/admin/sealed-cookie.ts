import type { z } from 'zod'
import { asJson, type Clock, isoNow, type Random } from '../../core/kit/index.ts'
import { type Keyring, seal, unseal } from '../sealed/index.ts'

type Place = Parameters<typeof unseal>[1]
type Expiring = Readonly<{ until: string }>

/** Values that a browser keeps for some minutes. Every replica can open them, and nothing is stored here. */
export function sealedCookie<Value extends z.ZodType<Expiring>>(place: Place, Value: Value) {
  return {
    seal: (deps: Readonly<{ keyring: Keyring; random: Random }>, value: z.output<Value>): string =>
      seal(deps, place, JSON.stringify(value)),
    /** Undefined for one that is missing, changed or expired. */
    open({ keyring, clock }: Readonly<{ keyring: Keyring; clock: Clock }>, cookie: string | undefined): z.output<Value> | undefined {
      const value = cookie === undefined ? undefined : Value.safeParse(asJson(openedOrEmpty(keyring, place, cookie))).data
      return value && value.until > isoNow(clock) ? value : undefined
    },
  }
}

function openedOrEmpty(keyring: Keyring, place: Place, cookie: string): string {
  try {
    return unseal(keyring, place, cookie).reveal()
  } catch {
    return ''
  }
}
