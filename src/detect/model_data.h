/* The text of rules/model.txt, which the build embeds in the program (embed_model.cmake). */
#ifndef TS_DETECT_MODEL_DATA_H
#define TS_DETECT_MODEL_DATA_H

extern const char detect__model_text[];

#endif
