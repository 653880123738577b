import type { Person } from '../../core/people/index.ts'
import type { Tone } from '../kit/index.ts'

export const statusTones: Readonly<Record<Person['status'], Tone>> = { active: 'ok', disabled: 'off', erased: 'off' }
export const passwordTones: Readonly<Record<Person['password'], Tone>> = { set: 'ok', initial: 'waiting', unknown: 'warning' }
