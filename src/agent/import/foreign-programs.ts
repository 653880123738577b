import type { Clock, Random } from '../../core/kit/index.ts'
import { foreignSettings } from './foreign-settings.ts'
import type { ForeignPrograms } from './import-run.ts'
import { answersAsChat } from './published.ts'
import { type SurveyDeps, surveyStack } from './survey.ts'

/** The programs of the stacks on this host. */
export const foreignPrograms = (deps: SurveyDeps & Readonly<{ clock: Clock; random: Random }>): ForeignPrograms => ({
  survey: (box, signal) => surveyStack(deps, box, signal),
  settings: (box, signal) => foreignSettings({ ...deps, signal }, box),
  answers: answersAsChat,
})
