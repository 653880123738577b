import { useQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { I18nProvider } from 'react-aria-components'
import { KitTextsProvider } from '../kit/index.ts'
import { de } from './de.ts'
import { en, type Words } from './en.ts'
import { sessionQuery } from './queries.ts'

const catalogues = { de, en } as const
export type Language = keyof typeof catalogues
export const languages = Object.keys(catalogues) as Language[]

type Chosen = Readonly<{ words: Words; language: Language; choose(language: Language): void }>
const Chosen = createContext<Chosen>({ words: en, language: 'en', choose: () => undefined })

const key = 'school-language'
const stored = () => languages.find((one) => one === localStorage.getItem(key))

/** German for German locales, English for all others. */
const languageOf = (locale: string): Language => (/^de\b/i.test(locale) ? 'de' : 'en')

/** The language that was chosen in this browser, else that of the user, else that of the browser. */
export function LanguageProvider({ children }: Readonly<{ children: ReactNode }>) {
  const [chosen, setChosen] = useState(stored)
  const locale = useQuery({ ...sessionQuery, enabled: false }).data?.user.locale ?? navigator.language
  const language = chosen ?? languageOf(locale)
  const words = catalogues[language]
  useEffect(() => {
    document.documentElement.lang = language
  }, [language])
  const value = useMemo(
    () => ({
      ...{ words, language },
      choose: (next: Language) => {
        localStorage.setItem(key, next)
        setChosen(next)
      },
    }),
    [words, language],
  )
  const inside = <I18nProvider locale={words.locale}>{children}</I18nProvider>
  return <Chosen value={value}>{words.kit ? <KitTextsProvider texts={words.kit}>{inside}</KitTextsProvider> : inside}</Chosen>
}

export const useWords = (): Words => useContext(Chosen).words
export const useLanguage = () => useContext(Chosen)
