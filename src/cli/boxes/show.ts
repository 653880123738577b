import { command } from '../kit/index.ts'
import { boxView } from './boxes.view.ts'
import { shownBox } from './shown-box.ts'

export const show = command('show <slug>', 'All that is known about a box', {}, (context, { slug }) => shownBox(context, slug), boxView)
