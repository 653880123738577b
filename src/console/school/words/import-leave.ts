import type { Language } from '../../../core/kit/index.ts'

type Texts = Readonly<{ title: string; text: string; confirm: string }>

/** Loaded with the import alone. */
export const leaveWords: Readonly<Record<Language, Texts>> = {
  en: {
    title: 'Leave this import?',
    text: 'Initial passwords that are not downloaded are lost: they are shown only here. An import that is running stops, and the people created until then remain.',
    confirm: 'Leave',
  },
  de: {
    title: 'Diesen Import verlassen?',
    text: 'Startpasswörter, die nicht heruntergeladen sind, gehen verloren: Sie werden nur hier angezeigt. Ein laufender Import hält an; die bis dahin angelegten Personen bleiben.',
    confirm: 'Verlassen',
  },
}
