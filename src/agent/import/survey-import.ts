import { boxCommands, planImport } from '../../core/boxes/index.ts'
import { boxOfCommand, type LocalBoxes } from '../boxes/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import { type SurveyDeps, surveyStack } from './survey.ts'

const kind = 'tenant-box.survey_import'

/** Plans the import of a foreign stack. Changes nothing; the evidence, which has secrets, stays on this host. */
export const surveyImport =
  (deps: SurveyDeps & Readonly<{ boxes: LocalBoxes }>): CommandExecutor<typeof kind> =>
  async ({ signal }, input) => {
    const payload = boxCommands[kind].payload.parse(input)
    const box = await boxOfCommand(deps.boxes, payload)
    const { evidence } = await surveyStack(deps, box, signal)
    return { plan: planImport({ evidence, ...payload }) }
  }
