// `tenantry crons`: the jobs that run by themselves: when they ran, how it went, and running one now.
import { noun } from '../kit/index.ts'
import { history } from './history.ts'
import { list } from './list.ts'
import { run } from './run.ts'

export const crons = noun('crons', 'Jobs that run by themselves', [list, run, history])
