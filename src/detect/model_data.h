/* rules/model.txt, put into the program by the build (embed_model.cmake). */
#ifndef TS_DETECT_MODEL_DATA_H
#define TS_DETECT_MODEL_DATA_H

extern const char detect__model_text[];

#endif
